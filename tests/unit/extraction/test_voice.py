"""Whose words a sentence is shows in what stands around it; what is doubted waits, and is never dropped for it."""

import pytest

from slowwave.extraction.classifier import weights
from slowwave.extraction.voice import documents, doubt_of, is_pasted, spoken, theirs
from slowwave.memory import QUOTED
from slowwave.reading import Part, Said, Statement, statements
from tests.unit.extraction.talk import RULES

FRAMES = (
    'My colleague wrote: "{}" Is that true?',
    "the poster in the kitchen says {}, funny isn't it",
    'Translate this sentence into French: "{}"',
)


def said(text: str) -> list[Statement]:
    return statements(Said(0, (), "", None, "", "person", (Part(text, is_pasted=False),)))


@pytest.mark.parametrize("rule", RULES)
def test_a_plain_rule_is_the_persons_own(rule: str) -> None:
    every = said(rule)
    assert doubt_of(theirs(every, weights())) == ""


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_is_quoted_reported_or_handed_over_is_doubted(frame: str, rule: str) -> None:
    every = said(frame.format(rule[0].upper() + rule[1:]))
    assert doubt_of(theirs(every, weights())) == QUOTED


def test_what_stands_around_a_sentence_is_part_of_what_it_shows() -> None:
    alone = said("Use tabs.")
    led = said("He asked for it. Use tabs. Right?")
    assert "p:alone=True" in spoken(alone[0], alone)
    shown = spoken(led[1], led)
    assert {"l:asked", "n:right", "p:asked behind=True", "p:alone=False", "p:last=False"} <= shown


REPORT = """
The migration endpoint returns 500 when the tenant has no default locale configured.

- Root cause: `resolve_locale()` falls through to the global fallback, which is `None` in production.
- Impact: all tenants created before the 3.2 release are affected, including staging environments.
- Suggested fix: always set the default locale during tenant creation and backfill existing rows.

Verified on the integration cluster; the regression was introduced in commit 4f2a9b1.
"""
TYPED = """
ok so first thing, the login page still jumps around on my phone. can you look at that

and I don't want any more snapshot tests, they break whenever I touch the css and nobody reads the diff anyway

also why is the footer blue now lol
"""


def test_a_report_without_any_mark_reads_as_pasted_and_a_long_message_does_not() -> None:
    assert is_pasted(documents(said(REPORT), weights()))
    assert not is_pasted(documents(said(TYPED), weights()))


def test_a_terse_message_is_never_taken_for_a_document() -> None:
    assert not is_pasted([9.0, 9.0])
    assert is_pasted([9.0, 9.0, -9.0])
