"""What a discussion settled: told by its place and by whose words it takes up, never by a word like "settled"."""

from pathlib import Path

import pytest

from slowwave.extraction.candidates import Note
from slowwave.extraction.discussion import settled
from slowwave.extraction.offline import notes
from slowwave.settings import ConsolidationSettings
from tests.unit.extraction.talk import Talk
from tests.unit.reading.clients import of_talk

ASKED = "How often shall the uploader retry a failed chunk?"
FIRST = "Five times, then we park the upload and page nobody."
SECOND = "And the pause between retries grows up to twenty seconds, the proxy kills idle uploads at 25."
RECAP = "Retry a failed chunk five times, the pause growing up to twenty seconds, then park the upload."


def discussed(recap: str = RECAP) -> Talk:
    return Talk().person(ASKED).assistant("As often as you like.").person(FIRST).assistant("And between?").person(
        SECOND
    ).assistant(recap)  # fmt: skip


def texts(folder: Path, talk: Talk) -> list[str]:
    return [one.text for one in settled(of_talk(folder, talk))]


def test_the_last_answer_of_a_talk_is_what_was_settled(tmp_path: Path) -> None:
    assert texts(tmp_path, discussed()) == [RECAP]


def test_a_dream_accepts_it_with_the_persons_words_as_evidence(tmp_path: Path) -> None:
    (note,) = [n for n in notes(of_talk(tmp_path, discussed())) if n.source == "recap"]
    assert (note.category, note.origin, note.doubt) == ("decision", "user_explicit", "")
    assert note.confidence >= ConsolidationSettings().accept_confidence
    assert _speakers(note) == ["person", "assistant"]


@pytest.mark.parametrize("words", ["Right, five it is.", "ok", "Genau so."])
def test_assent_stands_behind_it(tmp_path: Path, words: str) -> None:
    talk = discussed().person(words)
    assert texts(tmp_path, talk) == [RECAP]
    (note,) = [n for n in notes(of_talk(tmp_path, talk)) if n.source == "recap"]
    assert _speakers(note) == ["person", "assistant", "person"]


@pytest.mark.parametrize(
    "words", ["No, three times.", "wait, not five", "nein, doch nicht", "Is twenty not too long?", "so " * 30]
)
def test_what_is_refused_asked_about_or_left_for_another_topic_is_not_settled(tmp_path: Path, words: str) -> None:
    assert texts(tmp_path, discussed().person(words)) == []


def test_where_work_came_between_the_answer_reports_on_work(tmp_path: Path) -> None:
    talk = Talk().person(ASKED).assistant("As often as you like.").person(FIRST).assistant("Fine.").person(SECOND)
    assert texts(tmp_path, talk.bash("make upload").assistant(RECAP)) == []


def test_one_order_is_no_discussion(tmp_path: Path) -> None:
    assert texts(tmp_path, Talk().person(FIRST + " " + SECOND).assistant(RECAP)) == []


PROPOSED = "I would write the nightly ledger as Parquet, one partition for every warehouse, and drop it after 90 days."
AGREED = "The nightly ledger is Parquet, partitioned by warehouse, dropped after 90 days, without the returns."


def answered(reply: str) -> Talk:
    talk = Talk().person("What becomes of the ledger?").assistant(PROPOSED).person(reply).assistant("What else?")
    return talk.person("And leave out the returns, accounting has them already.").assistant(AGREED)


@pytest.mark.parametrize("reply", ["Right, like that.", "Genau so machen wir es.", "D'accord.", "はい、それで。"])
def test_a_proposal_that_the_person_let_stand_is_taken_up_as_their_words(tmp_path: Path, reply: str) -> None:
    assert texts(tmp_path, answered(reply)) == [AGREED]


@pytest.mark.parametrize("reply", ["No, not like that.", "Nein, anders.", "Who pays for that?"])
def test_a_proposal_that_was_refused_or_asked_about_is_not(tmp_path: Path, reply: str) -> None:
    assert texts(tmp_path, answered(reply)) == []


def test_words_are_taken_up_whatever_their_endings(tmp_path: Path) -> None:
    talk = Talk().person("Rechnungen werden zehntägig angemahnt.").assistant("Und dann?")
    talk.person("Dreimal gemahnte gehen ans Inkassobüro.")
    told = "Angemahnte Rechnung, zehntägige Frist, dreimalige Mahnung, Inkassobüros danach."
    assert texts(tmp_path, talk.assistant(told)) == [told]


def test_what_one_message_says_alone_is_no_discussion(tmp_path: Path) -> None:
    talk = Talk().person("Let us look at the uploader.").assistant("Gladly.").person(f"{FIRST} {SECOND}")
    assert texts(tmp_path, talk.assistant(f"{FIRST} {SECOND}")) == []


def test_what_the_assistant_adds_of_its_own_is_not_settled(tmp_path: Path) -> None:
    own = "Downloads through mirrors keep their checksum manifest beside every archive folder forever."
    assert texts(tmp_path, discussed(own)) == []
    assert texts(tmp_path, discussed(f"{RECAP} {own}"[:1000])) != [own]


def test_a_question_settles_nothing(tmp_path: Path) -> None:
    assert texts(tmp_path, discussed(RECAP.removesuffix(".") + "?")) == []


CLAUSES = (
    "a failed chunk is retried five times before the upload is parked",
    "the pause between two retries grows up to twenty seconds",
    "a parked upload pages nobody and retries its failed chunk when somebody wakes it",
)


def test_a_list_of_clauses_is_cut_so_that_one_of_them_can_be_amended(tmp_path: Path) -> None:
    found = texts(tmp_path, discussed("Retries of the uploader: " + "; ".join(CLAUSES)))
    assert found == [f"Retries of the uploader: {clause}" for clause in CLAUSES]


def test_words_that_only_announce_the_clauses_are_left_out(tmp_path: Path) -> None:
    assert texts(tmp_path, discussed("Agreed: " + "; ".join(CLAUSES))) == list(CLAUSES)


def test_a_clause_of_few_words_or_that_points_back_stays_with_the_one_before(tmp_path: Path) -> None:
    joined = f"{CLAUSES[0]}; nobody is paged; then it stays parked until somebody wakes the upload"
    assert texts(tmp_path, discussed(joined)) == [joined]


def test_clauses_in_much_the_same_words_are_all_noted(tmp_path: Path) -> None:
    alike = [f"a failed {w} is retried five times, the pause growing to twenty seconds" for w in ("chunk", "upload")]
    found = [n.text for n in notes(of_talk(tmp_path, discussed("; ".join(alike)))) if n.source == "recap"]
    assert sorted(found) == alike


def _speakers(note: Note) -> list[str]:
    return [getattr(item, "speaker", "") for item in note.items]
