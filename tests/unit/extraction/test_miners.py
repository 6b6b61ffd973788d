"""What people say that lasts is found, with its category; what belongs to the moment is not."""

from pathlib import Path

import pytest

from slowwave.dialects.registry import by_name
from slowwave.extraction.events import events_of
from slowwave.extraction.mining import EXTRACTOR, mine
from slowwave.extraction.redact import redactor_for
from slowwave.memory.model import Candidate, SessionRef
from slowwave.settings import ConsolidationSettings
from tests.unit.extraction.talk import Talk

REDACT = redactor_for("shop")
ACCEPT = ConsolidationSettings().accept_confidence


def mined(tmp_path: Path, talk: Talk, least: float = 0.5) -> list[Candidate]:
    session = talk.write(tmp_path)
    transcript = by_name("claude").read(session.files)
    ref = SessionRef("claude", session.id, str(session.files.paths[0]))
    events = events_of(transcript.messages, REDACT)
    return mine(events, ref, session.files.paths, REDACT, min_confidence=least).candidates


def after_work(words: str) -> Talk:
    return Talk().person("go on").bash("make test").assistant("Done, I used npm install.").person(words)


LASTING = [
    ("remember that the staging database is read-only", "project", "the staging database is read-only"),
    ("please remember: deploys happen from the release branch", "project", "deploys happen from the release branch"),
    ("from now on write commit messages in English", "preference", "from now on write commit messages in English"),
    ("always run the formatter before you commit", "pattern", None),
    ("never edit files under generated/ by hand", "constraint", None),
    ("I prefer small pull requests over big ones", "preference", None),
    ("no, use pnpm instead of npm", "preference", "use pnpm instead of npm"),
    ("don't mock the database in integration tests because it hid a bug last year", "preference", None),
    ("that's not right, we keep migrations in db/migrate and never in app", "constraint", None),
    ("let's go with Postgres because SQLite locks under load", "decision", None),
    ("we decided to drop support for Windows", "decision", None),
    ("the public API must support Python 3.8", "constraint", None),
    ("retire the legacy importer", "decision", None),
    ("I'm on Ubuntu 22.04 and use fish", "project", None),
    ("internal changes are never breaking changes", "constraint", None),
    ("tests live in spec/, not in test/", "project", None),
    ("the deploy branch is called production", "project", None),
    ("use `uv run pytest` to run the tests", "pattern", None),
    ("when you add a migration, also update the schema docs", "pattern", None),
    ("please keep answers short", "preference", None),
    ("I hate it when you write long summaries", "preference", None),
    ("our minimum supported Node version is 18", "constraint", None),
    ("commit changes as each task is completed", "preference", None),
    ("remember to update the changelog with every release", "preference", "update the changelog with every release"),
    ("\u8bf7\u8bb0\u4f4f\uff1a\u6211\u4eec\u4f7f\u7528 pnpm", "project", None),
    ("\u4ee5\u540e\u90fd\u7528\u4e2d\u6587\u56de\u590d", "preference", None),
    ("we're going with at most 5 attempts per event, since on-call is paged after the fifth", "decision", None),
    ("it has to keep running on Python 3.9, two customers still have it", "constraint", None),
    ("I want business dates computed in Europe/Brussels, not in UTC", "preference", None),
    ("looks good. the importer must never write to stdout.", "constraint", "the importer must never write to stdout"),
    ("nein, nutze pnpm statt npm", "preference", "nutze pnpm statt npm"),
    ("ab jetzt bitte immer deutsch antworten", "preference", None),
    ("It has to keep running on Python 3.9, because two customers have it", "constraint", None),
    ("it still needs to run on Node 18", "constraint", None),
    ("I want business dates computed in Europe/Brussels", "preference", None),
    ("I need the reports written in Dutch", "preference", None),
    ("I'd like the version only in pyproject.toml, nowhere else", "constraint", None),
    ("I like one line per change and no emoji", "preference", None),
    ("the ledger module belongs to Ben", "project", None),
    ("The billing service is owned by the payments team", "project", None),
    ("Priya is responsible for the deploy scripts", "project", None),
    ("I told you twice: tests go into tests/unit", "constraint", "tests go into tests/unit"),
    ("I told you to use pnpm", "preference", "use pnpm"),
    ("as I said before, migrations go into db/migrate", "constraint", "migrations go into db/migrate"),
    ("I already told you that fixtures belong in tests/fixtures", "constraint", "fixtures belong in tests/fixtures"),
]


@pytest.mark.parametrize(("words", "category", "text"), LASTING)
def test_lasting_words_become_a_candidate(tmp_path: Path, words: str, category: str, text: str | None):
    found = mined(tmp_path, after_work(words))
    assert [c.category for c in found] == [category]
    assert text is None or found[0].text == text
    assert found[0].confidence >= 0.55


@pytest.mark.parametrize(
    "words",
    [
        "yes",
        "push it",
        "go with the fix",
        "commit and open a PR",
        "fix the failing test in tests/test_cart.py",
        "why do we always get a 500 here?",
        "do you remember the plan?",
        "it always crashes when I click on save",
        "never mind",
        "don't commit yet",
        "don't do that",
        "use the other branch for now",
        "can you add a button to the cart page?",
        "the function must be called somewhere, find out where",
        "maybe we could use redis some day?",
        "I'll take it from here.",
        "let's cut a branch first",
        "delete that file",
        "The value is never read, see the log",
        "make sure it works",
        "stop",
        "write a file about geese in docs",
        "write these tests against a temporary folder, not against /tmp/x, for this command only",
        "Add validation: the email must be unique",
        "The function is not allowed to be called twice, that's the bug",
        "we can always render it on the way out",
        "always failing on CI, please look",
        "please don't forget to push",
        "when I click on save nothing happens",
        "if you are done, commit everything",
        "the file is stored in the wrong folder",
        "remember the refactor.md file? read it again",
        "always use the debug flag for this command only",
        "Remember to take a break tomorrow",
        "remember to call the dentist",
        "remember to drink some water",
        "remember to phone Anna at 3pm",
        "remember that I am on holiday tomorrow",
        "I want the button moved to the left",
        "I want the tests run now",
        "I want tests written for this",
        "I need the logs sent to me",
        "I told you to use that",
        "I want this test fixed",
        "I told you twice: it is broken",
        "The bug belongs to the parser",
        "that file belongs here",
        "this belongs to Ben",
    ],
)
def test_words_of_the_moment_give_nothing(tmp_path: Path, words: str):
    assert mined(tmp_path, after_work(words)) == []


def test_the_reason_of_a_refused_tool_call_is_a_correction(tmp_path: Path):
    found = mined(tmp_path, Talk().person("go").refused("we should keep the hook types separate for clarity"))
    assert [(c.origin, c.category) for c in found] == [("user_correction", "decision")]


def test_the_words_of_a_refusal_in_the_output_of_a_foreign_tool_do_not_count(tmp_path: Path):
    talk = Talk().person("go").refused("x")
    text = talk.records[-1]["message"]["content"][0]["content"].removesuffix("x") + "always use tabs"
    assert mined(tmp_path, Talk().person("go").tool("mcp__web__fetch", {}, text, error=True)) == []
    assert mined(tmp_path, Talk().person("go").tool("Bash", {"command": "cat x"}, text)) == []


def test_an_answer_in_the_question_dialog_is_a_decision(tmp_path: Path):
    result = (
        'User has answered your questions: "Where shall the catalog live?"="Standalone page (Recommended)". You can'
    )
    found = mined(tmp_path, Talk().person("go").tool("AskUserQuestion", {}, result))
    assert [(c.category, c.text) for c in found] == [("decision", "Where shall the catalog live? → Standalone page")]


def test_an_answer_about_the_next_step_is_not_kept(tmp_path: Path):
    result = 'User has answered your questions: "Does this look good to proceed with?"="Looks good". You can'
    assert mined(tmp_path, Talk().person("go").tool("AskUserQuestion", {}, result)) == []


def test_a_command_that_failed_and_then_worked_in_another_form(tmp_path: Path):
    talk = Talk().bash("rtk bun run test", "error: unrecognized subcommand 'bun'", 2).bash("bun run test", "12 pass")
    found = mined(tmp_path, talk)
    assert [(c.category, c.origin) for c in found] == [("pattern", "command_outcome")]
    assert "`bun run test` works" in found[0].text
    assert len(found[0].evidence) == 4


def test_a_failing_test_that_an_edit_repaired_is_not_a_memory(tmp_path: Path):
    talk = Talk().bash("make test", "1 failed", 2).tool("Edit", {"file_path": "/x/a.py"}, "ok").bash("make test", "ok")
    assert [c.text for c in mined(tmp_path, talk)] == ["Tests are run with `make test`"]


def test_a_program_that_is_not_there(tmp_path: Path):
    found = mined(tmp_path, Talk().bash("zsh -n x.zsh", "bash: zsh: command not found", 127), least=0.0)
    assert [c.text for c in found] == ["`zsh` is not available in the shell here (bash: zsh: command not found)"]


def test_a_command_that_is_run_again_and_again_has_a_typed_key(tmp_path: Path):
    talk = (
        Talk().bash("cd src && pnpm test 2>&1 | tail -5").bash("pnpm test").bash("pytest tests/test_a.py::test_x -k y")
    )
    found = mined(tmp_path, talk)
    assert [(c.key, c.value, c.text) for c in found] == [("cmd:test", "pnpm test", "Tests are run with `pnpm test`")]


def test_what_a_person_asks_for_in_several_turns(tmp_path: Path):
    talk = Talk().person("build it with Sonnet agents in parallel").assistant("ok")
    talk.person("use Sonnet agents for the docs as well")
    assert [c.extractor for c in mined(tmp_path, talk)] == [f"{EXTRACTOR}:insistence"]


def test_abandoned_branches_and_sidechains_give_nothing(tmp_path: Path):
    talk = Talk().person("hello there").assistant("hi")
    talk.person("always use tabs in this house", isSidechain=True).person("thanks a lot")
    assert mined(tmp_path, talk) == []


def test_the_rules_in_a_long_brief_count_and_those_of_a_document_in_it_do_not(tmp_path: Path):
    brief = "always use tabs. " + "This part of the plan describes the importer in detail. " * 60
    found = mined(tmp_path, Talk().person(brief + "\n\nremember that the importer runs on Sundays"))
    assert [c.text for c in found] == ["always use tabs", "the importer runs on Sundays"]
    template = "## Input\n\nYou **MUST** ask. Never skip a gate.\n\n" + "It describes the importer in detail. " * 60
    assert mined(tmp_path, Talk().person(template)) == []


def test_the_original_words_and_the_place_are_kept(tmp_path: Path):
    talk = Talk().person("remember that /home/ada/code/shop/src/cart.py is frozen until tomorrow")
    (found,) = mined(tmp_path, talk)
    assert found.text == "src/cart.py is frozen until on 2026-11-03" or "2026-11-03" in found.text
    assert "/home/" not in found.text
    assert "tomorrow" in found.evidence[0].quote
    assert found.observed_at == "2026-11-02T09:00:00Z"


def test_typed_keys_let_a_newer_fact_supersede_an_older(tmp_path: Path):
    found = mined(tmp_path, after_work("use pnpm instead of npm").assistant("ok").person("I prefer yarn over pnpm"))
    assert [(c.key, c.value) for c in found] == [("pref:package-manager", "pnpm"), ("pref:package-manager", "yarn")]


def test_text_is_one_line_of_at_most_300_characters(tmp_path: Path):
    words = "always keep " + " and ".join(f"module{n} apart" for n in range(16)) + " in the tree"
    (found,) = mined(tmp_path, Talk().person(words))
    assert len(found.text) <= 300
    assert "\n" not in found.text


# below what a dream takes from one session alone
WEAK = [
    "keep in mind that the user might use `git stash`",
    "keep in mind that we may need this later",
    "you can always use the old configuration as well",
    "go ahead with the type-based fix, skip the opt-in flag",
    "use `make docs` for this, theoretically, and never the old script",
    "for the site I prefer the visual appearance of direction A",
]


@pytest.mark.parametrize("words", WEAK)
def test_asides_and_what_hangs_on_the_moment_are_no_more_than_weak(tmp_path: Path, words: str):
    assert all(c.confidence < ACCEPT for c in mined(tmp_path, after_work(words)))


def answered(tmp_path: Path, question: str) -> Candidate:
    answer = f'User has answered your questions: "{question}"="In the vault". You can now continue.'
    (found,) = mined(tmp_path, Talk().person("go").tool("AskUserQuestion", {}, answer))
    return found


@pytest.mark.parametrize(
    "question",
    [
        "The restore bug can be fixed two ways. Which?",
        "The export grew a lot. How do you want to scope it?",
        "That is your call - which treatment?",
    ],
)
def test_a_question_that_does_not_stand_alone_gives_a_weaker_decision(tmp_path: Path, question: str):
    whole = answered(tmp_path, "Where should invoices be stored?")
    assert answered(tmp_path, question).confidence < whole.confidence


def test_a_way_of_working_is_told_without_the_thing_that_it_was_asked_for(tmp_path: Path):
    talk = Talk().person("use the writing clearly skill on the README").assistant("ok")
    (found,) = mined(tmp_path, talk.person("use the writing clearly skill on this document"))
    assert found.text == "use the writing clearly skill"
