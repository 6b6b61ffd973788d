"""Which sentences are the same fact, and which only look alike."""

import pytest

from slowwave.consolidation.likeness import is_same, words_of
from slowwave.consolidation.slots import amount_or_stance


def opposed(text: str) -> tuple[str, str]:
    return amount_or_stance(words_of(text))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use pnpm for installs", "use pnpm for installs."),
        ("Please always use pnpm for installs", "Use pnpm for the installs"),
        ("Run the tests with `make test`", "Run tests with make test"),
        ("Don't commit to the main branch", "Do not commit to main branch"),
        ("Write commit messages in the imperative mood", "Always write the commit message in imperative mood"),
        ("Do not use tabs", "Never use tabs"),
    ],
)  # fmt: skip
def test_the_same_fact_in_other_words_is_a_duplicate(one: str, other: str) -> None:
    assert is_same(one, other)
    assert is_same(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use pnpm for installs", "Use npm for installs"),
        ("Lines are at most 80 characters", "Lines are at most 120 characters"),
        ("Use Python 3.11", "Use Python 3.12"),
        ("Use tabs", "Do not use tabs"),
        ("Config lives in app/settings.py", "Config lives in app/settings/base.py"),
        ("Call load_user first", "Call load_users first"),
        ("Call loadUser first", "Call loaduser first"),
        ("Prefer vim over vi", "Prefer vi over vim"),
        ("Use tabs instead of spaces", "Use spaces instead of tabs"),
        ("Use pnpm", "Use pnpm in the frontend folder"),
        ("Deploy with --force", "Deploy with --dry-run"),
        ("Run tests before a commit", "Run tests after a commit"),
        ("Enable the cache", "Disable the cache"),
        ("Service A owns the queue", "Service B owns the queue"),
        (
            "The deploy pipeline waits for integration checks to finish",
            "The deploy pipeline waits for 2 integration checks to finish",
        ),
        ("Plan b is the fallback", "Plan c is the fallback"),
    ],
)
def test_a_different_number_name_path_negation_word_or_order_is_never_a_duplicate(one: str, other: str) -> None:
    assert not is_same(one, other)
    assert not is_same(other, one)


def test_statements_that_differ_in_a_number_or_a_negation_are_about_the_same() -> None:
    short, long = opposed("Lines are at most 80 characters"), opposed("Lines are at most 120 characters")
    assert short[0] == long[0]
    assert short[1] != long[1]
    yes, no = opposed("Use semicolons here"), opposed("Never use semicolons here")
    assert yes[0] == no[0]
    assert yes[1] != no[1]
    assert opposed("Use semicolons here") == opposed("Always use semicolons here")
    assert opposed("Tabs") == ("", "")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("never edit folder1 by hand", "never edit folder9 by hand"),
        ("keep src/v1/api.ts as it is", "keep src/v2/api.ts as it is"),
        ("never push to release-2024", "never push to release-2025"),
    ],
)
def test_statements_about_things_with_digits_in_their_names_do_not_contradict_each_other(one: str, other: str):
    assert opposed(one)[0] != opposed(other)[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the server listens on 8080", "the server listens on 9090"),
        ("we support Python 3.9", "we support Python 3.12"),
        ("requests time out after 30s", "requests time out after 60s"),
        ("target v2 of the protocol", "target v3 of the protocol"),
    ],
)
def test_statements_that_differ_in_an_amount_contradict_each_other(one: str, other: str):
    assert opposed(one)[0] == opposed(other)[0]
    assert opposed(one) != opposed(other)
