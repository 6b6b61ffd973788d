"""Sentences in one order: what is only put in another way is one fact, and nothing else becomes one."""

import pytest

from slowwave.consolidation.likeness import active, arranged, base_of, is_same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Before each merge, run `make lint`", "Run `make lint` before every merge."),
        ("In reports I prefer tables", "I prefer tables in reports"),
        ("If the build is red, then never merge", "Never merge if the build is red"),
        ("Since nobody reads it, we decided to drop it", "We decided to drop it because nobody reads it"),
        ("Lock files must not be edited by hand", "Never edit lock files by hand"),
        ("A batch must be retried twice", "Retry a batch twice"),
        ("Secrets can't be logged", "Don't log secrets"),
        ("Fixtures are kept in memory", "Keep fixtures in memory"),
        ("It is in staging that the soak test runs", "The soak test runs in staging"),
        ("There are no backups in staging", "Staging has no backups"),
        ("Ana owns the mailer", "The mailer belongs to Ana"),
        ("`make docs` builds the manual", "Build the manual with `make docs`"),
        ("The worker needs TOKEN to be set", "TOKEN must be set for the worker"),
        ("I want imports sorted by name", "Sort imports by name"),
        ("I don't want imports sorted", "Never sort imports"),
        ("I would rather have types than comments", "I prefer types over comments"),
        ("Decision: Redis is used for locks", "We've decided to use Redis for locks"),
    ],
)  # fmt: skip
def test_what_is_put_in_another_order_or_voice_is_the_same(one: str, other: str) -> None:
    assert is_same(one, other)
    assert is_same(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Before each merge, run `make lint`", "After each merge, run `make lint`"),
        ("Before lint, run build", "Before build, run lint"),
        ("The cache is cleared by the worker", "Clear the cache worker"),
        ("The gateway must be called by the worker", "The worker must be called by the gateway"),
        ("Secrets may be logged", "Secrets must be logged"),
        ("Secrets may be logged", "Secrets may never be logged"),
        ("Nothing may be deleted", "May delete"),
        ("The login bug is fixed in v2", "Fix the login bug in v2"),
        ("The image is built", "Build the image"),
        ("I want a fixed port", "Fix a port"),
        ("Only tested code is merged", "Only merge test code"),
        ("I want slow tests skipped", "I don't want slow tests skipped"),
        ("Staging has a proxy", "There is no proxy in staging"),
        ("Ana owns the mailer", "The mailer owns Ana"),
        ("Code that is generated must be checked", "Generate code that must be checked"),
    ],
)
def test_another_order_of_what_matters_is_another_fact(one: str, other: str) -> None:
    assert not is_same(one, other)
    assert not is_same(other, one)


@pytest.mark.parametrize(
    "text",
    [
        "We are blocked",
        "The mailer is slow",
        "It is used",
        "Mocks need speed",
        "Tests need to stay fast",
        "What is generated stays",
    ],
)
def test_what_is_no_passive_stays_as_it_is(text: str) -> None:
    assert active(text) == text
    assert arranged(text) == text


@pytest.mark.parametrize(
    ("participle", "verb"),
    [
        ("edited", "edit"), ("used", "use"), ("named", "name"), ("added", "add"), ("asked", "ask"), ("logged", "log"),
        ("called", "call"), ("retried", "retry"), ("kept", "keep"), ("speed", ""), ("slow", ""), ("red", ""),
    ],
)  # fmt: skip
def test_a_participle_tells_its_verb(participle: str, verb: str) -> None:
    assert base_of(participle) == verb
