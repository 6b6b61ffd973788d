"""A date stands behind the words for a day where the clause tells of that day, and nowhere else."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.memory.dates import LANGUAGES, dated

MONDAY = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("words", "result"),
    [
        ("frozen until tomorrow", "frozen until tomorrow (2026-11-03)"),
        ("we met yesterday", "we met yesterday (2026-11-01)"),
        ("Yesterday, the build failed", "Yesterday (2026-11-01), the build failed"),
        ("release by friday", "release by friday (2026-11-06)"),
        ("broken since Friday", "broken since Friday (2026-10-30)"),
        ("release by friday 16:00", "release by friday (2026-11-06) 16:00"),
        ("we deployed it on Friday", "we deployed it on Friday (2026-10-30)"),
        ("we will deploy it on Friday", "we will deploy it on Friday (2026-11-06)"),
        ("dropped 3 days ago", "dropped 3 days ago (2026-10-30)"),
        ("it will ship in two weeks", "it will ship in two weeks (2026-11-16)"),
        ("the demo is next week", "the demo is next week (week of 2026-11-09)"),
        ("we agreed last month", "we agreed last month (2026-10)"),
        ("we will move next year", "we will move next year (2027)"),
        ("we will move next quarter", "we will move next quarter (2027 Q1)"),
        ("gestern gemacht", "gestern (2026-11-01) gemacht"),
        ("eingefroren bis übermorgen", "eingefroren bis übermorgen (2026-11-04)"),
        ("seit letzten Freitag kaputt", "seit letzten Freitag (2026-10-30) kaputt"),
        ("on a changé la base hier", "on a changé la base hier (2026-11-01)"),
        ("gelé jusqu'à la semaine prochaine", "gelé jusqu'à la semaine prochaine (week of 2026-11-09)"),
        ("congelado hasta pasado mañana", "congelado hasta pasado mañana (2026-11-04)"),
        ("lo cambiamos hace dos semanas", "lo cambiamos hace dos semanas (2026-10-19)"),
        ("abbiamo cambiato il server ieri", "abbiamo cambiato il server ieri (2026-11-01)"),
        ("mudamos o banco ontem", "mudamos o banco ontem (2026-11-01)"),
        ("on l'a changé aujourd\u2019hui", "on l'a changé aujourd\u2019hui (2026-11-02)"),
        ("we hebben gisteren gewisseld", "we hebben gisteren (2026-11-01) gewisseld"),
    ],
)
def test_what_tells_of_a_day_keeps_its_words_and_gets_the_date(words: str, result: str) -> None:
    assert dated(words, MONDAY) == result
    assert dated(result, MONDAY) == result


@pytest.mark.parametrize(
    "words",
    [
        "the first 25 in a month are free",
        "every Monday",
        "on Fridays",
        # which day it is stands there already
        "code freeze until Friday 16 October because of the drill",
        "panel requests wait until Monday, November 16th",
        "we deployed it on Friday the 30th",
        "frozen until 16 October, until Friday",
        "eingefroren bis Freitag, den 16.10.",
        "gelé jusqu'à vendredi 16 octobre",
        "the demo is tomorrow, 2026-11-03",
        "we deploy on Friday",
        "from Monday to Friday",
        "retry after 3 days",
        "for two weeks",
        "within 30 days",
        "in the last week of a month we count",
        "wait until tomorrow's cache expires",
        "today's plan",
        "today the parser is slow",
        "files modified 3 days ago are skipped",
        "what is older than yesterday was deleted",
        "if the build failed yesterday, start it again",
        "did it fail yesterday?",
        "it said `git log --since yesterday`",
        'we renamed the label "yesterday"',
        "hier liegen die Tests",
        "guten Morgen zusammen",
        "Dateien, die gestern geändert wurden, werden übersprungen",
        "por la mañana vamos a dormir",
    ],
)
def test_durations_rates_rules_and_names_get_none(words: str) -> None:
    assert dated(words, MONDAY) == words


def test_without_a_time_nothing_is_guessed() -> None:
    assert dated("we met yesterday", None) == "we met yesterday"


def test_the_day_is_that_of_whoever_said_it() -> None:
    late = datetime(2026, 12, 31, 23, 30, tzinfo=ZoneInfo("America/Los_Angeles"))
    assert dated("we will do it tomorrow", late) == "we will do it tomorrow (2027-01-01)"


_WORDS = "we the was will be since until on last next week if haben wir nous avons ayer changed 1 's , . ? ` \" \n"
_PIECES = [
    *sorted({word for one in LANGUAGES for word in (*one.days, *one.weekdays.split())}),
    *(*_WORDS.split(" "), "3 days ago", "in two weeks", "(2026-11-01)"),
]


@given(st.lists(st.sampled_from(_PIECES), max_size=12))
def test_doing_it_twice_changes_nothing_and_no_word_goes(pieces: list[str]) -> None:
    text = " ".join(pieces)
    once = dated(text, MONDAY)
    assert dated(once, MONDAY) == once
    left = iter(once)
    assert all(character in left for character in text)


NOTES = (
    ("Tomorrow Ben rotates the keys", "Tomorrow (2026-11-19) Ben rotates the keys"),
    ("User is on holiday next week", "User is on holiday next week (week of 2026-11-23)"),
    ("Merged the branch this morning", "Merged the branch this morning (2026-11-18)"),
    ("The parser falls back to yesterday", "The parser falls back to yesterday"),
    ("The default day is today", "The default day is today"),
    ("today is Priya's last day", "today (2026-11-18) is Priya's last day"),
    ("Every Monday the cache is dropped, never tomorrow", "Every Monday the cache is dropped, never tomorrow"),
)


@pytest.mark.parametrize(("note", "told"), NOTES)
def test_a_note_says_when_at_the_edge_of_a_clause(note: str, told: str) -> None:
    at = datetime(2026, 11, 18, 12, tzinfo=UTC)
    assert dated(note, at, is_note=True) == told
    assert dated(told, at, is_note=True) == told
