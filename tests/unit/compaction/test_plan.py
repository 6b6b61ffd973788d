"""What a compaction would do: nothing lost between two of them, earlier files and summaries carried on, or why not."""

from pathlib import Path

from slowwave.compaction.items import Item, items_of, pi_items
from slowwave.compaction.plan import Budget, NoPlan, Plan, prepare
from slowwave.compaction.tokens import PI
from slowwave.formats import Message
from tests.unit.compaction.messages import answer, result, summary, user
from tests.unit.formats.pi_files import Session, call

SMALL = Budget(keep_recent_tokens=1000)
LONG = "x" * 4000


def texts(items: tuple[Item, ...]) -> list[str]:
    return [item.message.text.strip("x") for item in items if item.message is not None]


def planned(messages: list[Message], budget: Budget = SMALL) -> Plan:
    plan = prepare(items_of(messages, PI), budget)
    assert isinstance(plan, Plan), plan
    return plan


def of_pi(session: Session, folder: Path) -> Plan | NoPlan:
    transcript = session.read(folder)
    return prepare(pi_items(transcript.path, transcript.loaded), SMALL)


def test_summarises_whole_turns_and_keeps_the_rest() -> None:
    plan = planned([user("old"), answer("b"), user(LONG + "new", id="u2"), answer("d")])
    assert (texts(plan.history), texts(plan.prefix), texts(plan.kept)) == (["old", "b"], [], ["new", "d"])
    assert (plan.first_kept, plan.is_split, plan.previous_summary) == ("u2", False, "")
    assert (plan.tokens_summarised, plan.tokens_kept) == (2, 1002)


def test_summarises_the_beginning_of_a_split_turn_for_itself() -> None:
    plan = planned([user("old"), answer("b"), user("ask"), answer("part"), answer(LONG + "end")])
    assert (texts(plan.history), texts(plan.prefix), texts(plan.kept)) == (["old", "b"], ["ask", "part"], ["end"])


def test_a_second_compaction_begins_at_what_the_first_one_kept(tmp_path: Path) -> None:
    session = Session()
    for text in ("one", "two"):
        session.user(text)
        session.model("answer " + text)
    session.compact("e3", "First", details={"readFiles": ["a"], "modifiedFiles": ["b"]})
    session.user("three")
    session.model("reads", call("c", path="c"))
    session.result("c", "text")
    session.user(LONG + "four")
    plan = of_pi(session, tmp_path)
    assert isinstance(plan, Plan)
    assert texts(plan.history) == ["two", "answer two", "three", "reads", ""]
    assert plan.previous_summary == "First"
    assert (plan.files.read_files, plan.files.modified_files) == (["a", "c"], ["b"])


def test_files_of_an_extensions_compaction_are_its_own_business(tmp_path: Path) -> None:
    session = Session()
    session.user("one")
    session.compact("e1", "S", details={"readFiles": ["a"]}, fromHook=True)
    session.user(LONG + "two")
    plan = of_pi(session, tmp_path)
    assert isinstance(plan, Plan)
    assert plan.files.read_files == []


def test_goes_on_from_the_summary_in_a_context_of_any_dialect() -> None:
    before = summary("Kept so far\n\n<read-files>\na\n</read-files>")
    plan = planned([before, user("one"), answer("", "c:edit:a"), result("c"), user(LONG)])
    assert plan.previous_summary == "Kept so far"
    assert len(plan.history) == 3
    assert (plan.files.read_files, plan.files.modified_files) == ([], ["a"])


def test_says_why_there_is_no_plan(tmp_path: Path) -> None:
    assert prepare([], SMALL) == NoPlan("no messages")
    fits = prepare(items_of([user("a"), answer("b")], PI), SMALL)
    assert fits == NoPlan("all of it, 2 tokens, fits into the 1,000 kept")
    giant = prepare(items_of([user(LONG), answer("")], PI), SMALL)
    assert giant == NoPlan("nothing stands before the first message that can be kept, 1,000 tokens")
    nothing = prepare(items_of([user(""), user(LONG)], PI), SMALL)
    assert nothing == NoPlan("no token to summarise")
    session = Session()
    session.user(LONG)
    session.user(LONG)
    session.compact("e2")
    session.add("label", targetId="e1", label="x")
    assert of_pi(session, tmp_path) == NoPlan("no messages since the last compaction")


def test_names_an_entry_that_the_session_has_and_the_context_then_begins_there(tmp_path: Path) -> None:
    session = Session()
    for number in range(6):
        session.user(f"{LONG}{number}")
        session.model("a", call(f"c{number}"))
        session.result(f"c{number}", "r")
    plan = of_pi(session, tmp_path)
    assert isinstance(plan, Plan)
    session.compact(plan.first_kept, "S")
    assert [line.strip("x").partition(" ")[2].strip("x") for line in session.shape(tmp_path)][:2] == ["[S]", "5"]
