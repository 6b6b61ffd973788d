"""The account of a run: held before, settled after, shared by processes, never overspent."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.models.base import BudgetSpentError, Meter, Usage, estimated_tokens
from slowwave.settings import ModelSettings

SPEND = """
import sys
from pathlib import Path
from slowwave.models.base import BudgetSpentError
from slowwave.models.base import Meter
from slowwave.settings import ModelSettings
meter = Meter(ModelSettings(budget_tokens=1000), Path(sys.argv[1]))
done = 0
try:
    while True:
        held = meter.hold(5, 2)
        meter.settle(held, held)
        done += 1
except BudgetSpentError:
    print(done)
"""


def test_what_is_on_its_way_counts_until_it_is_settled():
    meter = Meter(ModelSettings(budget_tokens=100))
    held = meter.hold(60, 30)
    with pytest.raises(BudgetSpentError, match="90 tokens"):
        meter.hold(10, 1)
    meter.settle(held, Usage(20, 5))
    assert meter.hold(60, 15)


def test_money_is_counted_by_the_prices_of_the_settings():
    meter = Meter(ModelSettings(budget_usd=0.01, price_input=1.0, price_output=10.0))
    held = meter.hold(5000, 400)
    assert held.usd == pytest.approx(0.009)
    with pytest.raises(BudgetSpentError, match="budget_usd"):
        meter.hold(1000, 100)


def test_a_money_budget_holds_without_prices():
    meter = Meter(ModelSettings(budget_usd=0.01))
    with pytest.raises(BudgetSpentError):
        meter.hold(5000, 1000)


def test_without_budgets_nothing_is_refused():
    meter = Meter(ModelSettings())
    meter.settle(meter.hold(10**9, 10**9), None)
    assert meter.spent().held_tokens == 0


def test_processes_share_one_account_and_do_not_overspend(tmp_path: Path):
    journal = tmp_path / "runs" / "r.json"
    started = [
        subprocess.Popen([sys.executable, "-c", SPEND, str(journal)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    done = sum(int(process.communicate(timeout=60)[0]) for process in started)
    account = Meter(ModelSettings(), journal).spent()
    assert done == account.calls == 1000 // 7
    assert (account.prompt_tokens, account.completion_tokens, account.held_tokens) == (done * 5, done * 2, 0)


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 400), st.booleans()), max_size=40))
def test_no_order_of_questions_spends_more_than_the_budget(questions: list[tuple[int, int, bool]]):
    meter = Meter(ModelSettings(budget_tokens=1000))
    for prompt, completion, answered in questions:
        try:
            held = meter.hold(prompt, completion)
        except BudgetSpentError:
            continue
        meter.settle(held, held if answered else None)
        account = meter.spent()
        assert account.prompt_tokens + account.completion_tokens <= 1000
        assert account.held_tokens == 0


@pytest.mark.parametrize(("text", "least"), [("word " * 100, 125), ("界" * 100, 100), ("x" * 4000, 1000)])
def test_estimates_are_rather_too_high(text: str, least: int):
    assert least <= estimated_tokens(text) <= 3 * least
