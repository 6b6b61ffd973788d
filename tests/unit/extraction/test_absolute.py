"""Dates and paths hold wherever and whenever they are read again."""

from datetime import UTC, datetime

import pytest

from slowwave.extraction.absolute import absolute_dates, relative_paths

MONDAY = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("words", "result"),
    [
        ("frozen until tomorrow", "frozen until tomorrow (2026-11-03)"),
        ("we met yesterday", "we met yesterday (2026-11-01)"),
        ("release by friday", "release by friday (2026-11-06)"),
        ("broken since Friday", "broken since Friday (2026-10-30)"),
        ("next monday", "next monday (2026-11-09)"),
        ("last monday", "last monday (2026-10-26)"),
        ("dropped 3 days ago", "dropped 3 days ago (2026-10-30)"),
        ("ships in two weeks", "ships in two weeks (2026-11-16)"),
        ("next week", "next week (week of 2026-11-09)"),
        ("last month", "last month (2026-10)"),
        ("next year", "next year (2027)"),
        ("next quarter", "next quarter (2027 Q1)"),
        ("gestern gemacht", "gestern (2026-11-01) gemacht"),
        ("vor drei Tagen", "vor drei Tagen (2026-10-30)"),
    ],
)
def test_relative_dates_become_absolute(words: str, result: str):
    assert absolute_dates(words, MONDAY) == result


@pytest.mark.parametrize(
    "words", ["run `git log --since yesterday`", "every Friday", "on Fridays", "today's plan", "in time"]
)
def test_what_is_no_date_stays(words: str):
    assert absolute_dates(words, MONDAY) == words


def test_without_a_time_nothing_is_guessed():
    assert absolute_dates("until tomorrow", None) == "until tomorrow"


@pytest.mark.parametrize(
    ("text", "cwd", "result"),
    [
        ("edit /home/ada/shop/src/a.py", "/home/ada/shop", "edit src/a.py"),
        ("in /home/ada/shop and", "/home/ada/shop/", "in . and"),
        ("/home/ada/shop-old/a.py", "/home/ada/shop", "/home/ada/shop-old/a.py"),
        (r"edit D:\code\shop\src\a.py", r"D:\code\shop", r"edit src\a.py"),
        ("/home/ada/x", "/home", "/home/ada/x"),
        ("/x/y", "", "/x/y"),
    ],
)
def test_paths_below_the_working_folder_are_written_from_there(text: str, cwd: str, result: str):
    assert relative_paths(text, cwd) == result


@pytest.mark.parametrize("spelled", ["D:\\code\\shop\\src", "/d/code/shop/src", "/mnt/d/code/shop/src"])
def test_a_windows_folder_is_known_however_a_shell_spells_it(spelled: str):
    assert relative_paths(f"run it in {spelled} only", "D:\\code\\shop") == "run it in src only"


def test_a_project_right_below_a_drive_counts_but_not_the_folder_of_all_users():
    assert relative_paths("run it in /d/shop/src", "D:\\shop") == "run it in src"
    assert relative_paths("it is in /c/Users/ada", "C:\\Users") == "it is in /c/Users/ada"


@pytest.mark.parametrize(
    ("words", "dated"),
    [
        ("eingefroren bis übermorgen", "eingefroren bis übermorgen (2026-11-04)"),
        ("seit letzten Freitag kaputt", "seit letzten Freitag (2026-10-30) kaputt"),
        ("on a changé la base hier", "on a changé la base hier (2026-11-01)"),
        ("gelé jusqu'à la semaine prochaine", "gelé jusqu'à la semaine prochaine (week of 2026-11-09)"),
        ("congelado hasta pasado mañana", "congelado hasta pasado mañana (2026-11-04)"),
        ("lo cambiamos hace dos semanas", "lo cambiamos hace dos semanas (2026-10-19)"),
    ],
)
def test_other_languages_keep_their_words_and_get_a_date(words: str, dated: str):
    assert absolute_dates(words, MONDAY) == dated


@pytest.mark.parametrize(
    "words",
    ["hier liegen die Tests", "guten morgen zusammen", "Morgen läuft `git log --since gestern`", "por la mañana"],
)
def test_places_and_times_of_day_are_no_dates(words: str):
    assert absolute_dates(words, MONDAY) == words
