"""crabtalk's way to summarise: one dense text without headings, from results of tools cut to a kibibyte.

Source: RFC 0064 and §4.4 of the reference: who the agent is, who the person is, decisions, open tasks, facts and
constraints, results that still matter; no greetings, no plans that were given up.
"""

from slowwave.compaction.plan import Plan
from slowwave.compaction.requests import Request
from slowwave.compaction.triggers import Budget

TOOL_UNITS = 1_024
_ANSWER_TENTHS = 8
_TASK = (
    "Write what another model has to know to go on with this conversation as one dense text in plain paragraphs, "
    "without headings and without bullet points. Tell who the agent is and what is known of the person, the decisions "
    "and why they were taken, the tasks that are open, facts and constraints that hold, and results of tools that are "
    "still needed, with every path, command, number and error message exactly as it was written. Leave out greetings, "
    "plans that were given up and results whose outcome is told already."
)
_CARRY = "The text in <previous-summary> came before this conversation: work it in as far as it still holds."


def prose_requests(plan: Plan, budget: Budget, focus: str = "") -> list[Request]:
    """Return the one question about all that goes away."""
    items = plan.history + plan.prefix
    if not any(item.message is not None for item in items):
        return []
    tasks = [_TASK, _CARRY if plan.previous_summary else "", f"Look above all at this: {focus}" if focus else ""]
    task = "\n\n".join(filter(None, tasks))
    most = budget.reserve * _ANSWER_TENTHS // 10
    return [Request("history", "prose", items, task, most, plan.previous_summary, most_units=TOOL_UNITS)]
