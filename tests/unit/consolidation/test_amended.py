"""A later recap tells anew what it takes up of an older decision: the old value is history, the rest stands."""

import pytest
from msgspec.structs import replace

from slowwave.memory import Candidate
from tests.unit.consolidation.nights import Nights, said

FIRST, LATER = "2026-11-03T10:00:00Z", "2026-11-06T10:00:00Z"


def recap(at: str, *clauses: str, session: str = "") -> list[Candidate]:
    """Return the candidates of a discussion that ended in these clauses."""
    stated = (said(clause, at, session=session, category="decision", confidence=0.7) for clause in clauses)
    return [replace(one, extractor="offline/5:recap") for one in stated]


def decided(at: str, text: str, session: str = "") -> list[Candidate]:
    return [said(text, at, session=session, category="decision")]


def standing(*candidates: list[Candidate]) -> set[str]:
    """Return what stands after one night, which is what stands after a night for each."""
    once, apart = Nights(), Nights()
    once.dream([c for group in candidates for c in group])
    for group in candidates:
        apart.dream(group)
    stands = {m.text for m in once.book.active}
    assert {m.text for m in apart.book.active} == stands
    return stands


AMENDED = (
    (
        "invoices are chased twice, first after 14 days, and then handed to the collection agency",
        ("unpaid invoices are chased three times, first after 10 days, and only then handed to the collection agency",),
    ),
    (
        "thumbnails are cropped to squares of 256 pixels and stored as JPEG with quality 80",
        ("cropping stays, thumbnails are squares of 320 pixels now", "they are stored as WebP with quality 75"),
    ),
    (
        "a greenhouse vent opens above 28 degrees and never closes before dusk",
        ("the greenhouse vent opens above 26 degrees, superseding the old 28-degree mark", "it closes when wind rises"),
    ),
    (
        "Sicherungen laufen um 2 Uhr, bleiben 30 Tage liegen und werden dann gelöscht",
        ("Sicherungen laufen um 4 Uhr", "sie bleiben 90 Tage liegen und werden erst dann gelöscht"),
    ),
    (
        "los informes se envían cada lunes a las 8 con los totales de ventas",
        ("los informes de ventas se envían cada martes a las 9 con los totales por región",),
    ),
    (
        "les brouillons sont gardés 15 jours puis supprimés sans avertir les auteurs",
        ("les brouillons sont gardés 40 jours, puis les auteurs sont avertis, puis les brouillons sont supprimés",),
    ),
    ("备份每天保留三十天,然后自动删除旧备份", ("备份每天保留九十天,然后自动删除旧备份,并且通知值班人员",)),
)


@pytest.mark.parametrize(("older", "clauses"), AMENDED, ids=lambda one: str(one)[:20])
@pytest.mark.parametrize("build", [recap, decided])
def test_what_a_later_recap_tells_anew_stands_with_its_new_value_alone(
    older: str, clauses: tuple[str, ...], build: type
) -> None:
    assert standing(build(FIRST, older), recap(LATER, *clauses)) == set(clauses)


def test_the_old_value_is_history_with_what_ended_it() -> None:
    older, (newer,) = AMENDED[0]
    nights = Nights()
    nights.dream([*recap(FIRST, older), *recap(LATER, newer)])
    (gone,) = [m for m in nights.book.memories.values() if m.text == older]
    assert (gone.status, gone.held) == ("superseded", ((FIRST, LATER),))
    assert nights.book.memories[gone.successor].text == newer
    assert nights.believed_at("2026-11-04") == {older}


OTHERS = (
    (
        "the billing client retries 4 times and waits 60 seconds",
        "the search client retries 6 times and waits 30 seconds",
    ),
    ("clients of billing retry 4 times and wait 60 seconds", "clients of search retry 6 times and wait 30 seconds"),
    ("uploads retry 4 times and wait 60 seconds", "for videos, uploads retry 9 times and wait 300 seconds"),
    ("uploads retry 4 times and wait 60 seconds for videos", "uploads retry 9 times and wait 300 seconds"),
    ("at most 500 entries are read in one go by `load_rows`", "at most 20 entries are read in one go by `load_blobs`"),
    ("a failed chunk is retried and nobody is paged for it", "a failed upload is parked after 5 days"),
    ("die Vorschau zeigt 20 Zeilen der Tabelle", "der Export schreibt alle Zeilen der Tabelle in Blöcken"),
)


@pytest.mark.parametrize(("older", "newer"), OTHERS)
def test_what_is_about_something_else_stands_beside_it(older: str, newer: str) -> None:
    assert standing(recap(FIRST, older), recap(LATER, newer)) == {older, newer}


def test_of_a_recap_only_the_clauses_that_are_amended_end() -> None:
    clauses = (
        "a parcel is weighed at the counter and again before loading",
        "a parcel above 20 kilograms goes by freight and costs 12 euros",
        "labels are printed in duplicate",
    )
    newer = "a parcel above 25 kilograms goes by freight and costs 15 euros"
    assert standing(recap(FIRST, *clauses), recap(LATER, newer)) == {clauses[0], clauses[2], newer}


def test_in_one_discussion_the_persons_words_end_only_where_the_recap_has_another_value() -> None:
    mine, other = "tickets without an answer are closed after 30 days", "closed tickets reopen when somebody answers"
    told = "tickets without an answer are closed after 45 days", "closed tickets reopen when anybody answers there"
    session = {"session": "one"}
    spoken = [*decided(FIRST, mine, **session), *decided(FIRST, other, **session)]
    assert standing(spoken, recap(LATER, *told, **session)) == {other, *told}


def test_what_is_stated_again_afterwards_holds_again() -> None:
    older, clauses = AMENDED[0]
    again = "2026-11-09T10:00:00Z"
    assert older in standing(recap(FIRST, older), recap(LATER, *clauses), decided(again, older))


def test_an_old_session_that_is_found_late_changes_nothing() -> None:
    older, clauses = AMENDED[0]
    assert standing(recap(LATER, *clauses), recap(FIRST, older)) == set(clauses)


def test_words_of_a_person_alone_tell_nothing_anew() -> None:
    older, (newer,) = AMENDED[0]
    assert standing(decided(FIRST, older), decided(LATER, newer)) == {older, newer}
