"""A second ledger goes on from the first, or from a client's summary: everything once, nothing for ever."""

import pytest

from slowwave.compaction.files import of_tags
from slowwave.compaction.ledger import LedgerSettings, ledger_of, rendered
from tests.unit.compaction.sessions import CWD, Talk
from tests.unit.compaction.test_ledger import section

FIRST = (
    Talk()
    .typed("Build an importer for the old shop, it must never delete rows")
    .typed("See PROJ-7 for the columns")
    .call("TodoWrite", todos=[{"content": "Write the parser", "status": "in_progress"}])
    .run("make test", "error: no rule for x", 2)
    .run("cargo build", "error: linker missing", 1)
    .call("read", path="a.py")
    .call("edit", path="b.py")
)
CLAUDE = """This session is being continued from a previous conversation that ran out of context. More is below.

Analysis:
First I think about it all.

Summary:
1. **Primary Request and Intent:**
   The person wants an importer.

2. **Files and Code Sections:**
   - **src/parser.go**: the lexer
   ```go
   func Parse() {}
   ```

3. **Pending Tasks:**
   - Write the changelog

Please continue the conversation from where we left it off without asking the user any further questions."""


def first() -> str:
    return rendered(ledger_of(FIRST.messages, cwd=CWD))


def second(talk: Talk, previous: str | None = None) -> str:
    return rendered(ledger_of(talk.messages, first() if previous is None else previous, CWD))


def test_what_the_first_told_is_told_once_more_and_no_more_than_once() -> None:
    text = first()
    for _ in range(4):
        text = second(Talk().said("Nothing new here."), text)
    for line in ("Build an importer for the old shop", "linker missing", "- [ ] Write the parser", "a.py", "b.py"):
        assert text.count(line) == first().count(line), line


def test_without_anything_new_a_ledger_repeats_itself() -> None:
    assert second(Talk()) == first()
    assert second(Talk(), second(Talk())) == first()


def test_the_goal_stays_the_first() -> None:
    text = second(Talk().typed("Now write the documentation of the importer"))
    goal = section(text, "## Goal")
    assert goal.index("Build an importer") < goal.index("Now write the documentation")
    assert "asked last" in section(text, "### In Progress")


def test_progress_moves_on() -> None:
    talk = Talk().call("TodoWrite", todos=[{"content": "Write the parser", "status": "completed"}]).run("cargo build")
    text = second(talk)
    assert "- [x] Write the parser" in section(text, "### Done")
    assert "Write the parser" not in section(text, "### In Progress")
    assert "linker missing` - resolved: it succeeded later" in section(text, "## Critical Context")
    assert "no rule for x` - not resolved" in section(text, "### Blocked")
    assert "`cargo build`: ok" in section(text, "### Done")
    assert "`cargo build`: failed" not in text


def test_files_are_carried_on_with_or_without_the_lists_in_the_text() -> None:
    text = second(Talk().call("edit", path="a.py").call("read", path="c.py"))
    assert (of_tags(text).read_files, of_tags(text).modified_files) == (["c.py"], ["a.py", "b.py"])


def test_a_summary_among_the_messages_counts_once() -> None:
    talk = Talk().summary(f"Before:\n\n<summary>\n{first()}\n</summary>").said("Nothing new here.")
    assert rendered(ledger_of(talk.messages, cwd=CWD)) == second(Talk().said("Nothing new here."))
    assert rendered(ledger_of(talk.messages, first(), CWD)) == second(Talk().said("Nothing new here."))


def test_a_clients_summary_is_carried_by_its_sections() -> None:
    text = rendered(ledger_of(Talk().summary(CLAUDE).said("Nothing new here.").messages, cwd=CWD))
    assert "- The person wants an importer." in section(text, "## Goal")
    assert "1. Write the changelog" in section(text, "## Next Steps")
    assert "src/parser.go" in section(text, "## Critical Context")
    assert "First I think" not in text
    assert "without asking the user" not in text
    again = second(Talk(), text)
    assert again.count("src/parser.go") == 1
    assert again.count("The person wants an importer.") == 1


def test_prose_is_carried_as_context() -> None:
    text = second(Talk(), "We built a parser.\nIt reads dates.")
    assert "- We built a parser.\n- It reads dates." in section(text, "## Critical Context")


@pytest.mark.parametrize("rounds", [30])
def test_it_does_not_grow_for_ever(rounds: int) -> None:
    text = ""
    for n in range(rounds):
        talk = Talk().typed(f"Now change part {n} of the program, it must show {n} rows because of rule {n}")
        talk.said(f"I'll use method {n} rather than method {n + 1} because it is faster here.").run(f"deploy unit{n}")
        text = rendered(ledger_of(talk.messages, text, CWD, settings=LedgerSettings(most_bytes=6_000)))
        assert len(text.encode()) <= 6_000
    assert "change part 0 " in text
    assert f"change part {rounds - 1} " in text
