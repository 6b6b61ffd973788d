"""From steps to turns: which words and calls of the agent were one message, which results answer it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from slowwave.samples.script import Call, Delegation, Say, Step


@dataclass
class Answer:
    """One message of the agent: reasoning, words and the tool calls that it made at once."""

    thinking: str = ""
    text: str = ""
    calls: list[Call | Delegation] = field(default_factory=list["Call | Delegation"])


Turn = Say | Answer


def turns(steps: Iterable[Step]) -> Iterator[Turn]:
    """Yield what was said, with consecutive steps of the agent joined into messages as a model emits them."""
    answer: Answer | None = None
    for step in steps:
        if answer and _starts_anew(answer, step):
            yield answer
            answer = None
        match step:
            case Say(kind="think"):
                answer = Answer(thinking=step.text)
            case Say(kind="agent"):
                answer = answer or Answer()
                answer.text = step.text
            case Say():
                yield step
            case Call() | Delegation():
                answer = answer or Answer()
                answer.calls.append(step)
    if answer:
        yield answer


def _starts_anew(answer: Answer, step: Step) -> bool:
    match step:
        case Say(kind="agent"):
            return bool(answer.text or answer.calls)
        case Say():
            return True
        case Call() | Delegation():
            return bool(answer.calls) and not step.parallel
