"""What the report says about the model: what would be asked and may cost, what was asked and did cost, what waits."""

from collections import Counter
from collections.abc import Iterable

from slowwave.extraction.model.questions import Piece
from slowwave.formats.sessions import StoredSession
from slowwave.models.base import Ask, Meter, Usage, estimated_tokens, prices_of
from slowwave.models.batch import DISCOUNT
from slowwave.quantities import counted
from slowwave.report import Item, Report
from slowwave.settings import ModelSettings

# what an answer about a window of a transcript usually needs; most hold nothing
USUAL_ANSWER = 300
_MOST_NAMED = 5
_MICRO = 1_000_000


class Summary:
    """Adds up one project.

    Args:
        settings: name, prices and budgets.
        project: the project's key.
    """

    def __init__(self, settings: ModelSettings, project: str) -> None:
        self._settings = settings
        self._project = project
        self._counts: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()
        self._sessions: set[str] = set()
        self._left: dict[str, str] = {}
        self._pending: dict[str, str] = {}
        self._given_up: dict[str, str] = {}
        self._unjudged: set[str] = set()
        self._usd = 0.0

    def foresee(self, asks: Iterable[Ask], judgement: Ask) -> None:
        """Count one session's questions that would be asked, and the most that the judgement of its notes can cost."""
        self._counts["sessions"] += 1
        self._counts["judging"] += estimated_tokens(judgement.system, judgement.user) + judgement.max_output_tokens
        for ask in asks:
            self._counts["questions"] += 1
            self._counts["prompt"] += estimated_tokens(ask.system, ask.user)

    def count(self, session: StoredSession, piece: Piece, *, kept: int, gives_up: bool) -> None:
        """Count what became of a piece of a session; ``kept`` of its candidates were new."""
        self._sessions.add(session.id)
        if piece.usage is not None:
            self._counts["answers"] += 1
            self._counts["prompt"] += piece.usage.prompt_tokens
            self._counts["completion"] += piece.usage.completion_tokens
            self._usd += piece.usage.usd
        self._counts["kept"] += kept
        self._dropped.update(piece.accepted.left)
        if gives_up or piece.trouble == "too_long":
            self._given_up[session.id] = piece.reason
        elif piece.trouble == "pending":
            self._counts["pending"] += 1
            self._pending[session.id] = piece.reason
        elif piece.trouble:
            self._counts["postponed"] += 1
            self._left[session.id] = piece.reason

    def spent(self, usage: Usage | None) -> None:
        """Count what a judgement cost."""
        if usage is not None:
            self._counts["judgements"] += 1
            self._counts["prompt"] += usage.prompt_tokens
            self._counts["completion"] += usage.completion_tokens
            self._usd += usage.usd

    def unjudged(self, session: StoredSession, number: int) -> None:
        """Count notes that wait because the question of judgement got no answer."""
        self._counts["unjudged"] += number
        self._unjudged.add(session.id)

    def note(self, report: Report) -> None:
        """Write everything into the report; nothing when there was nothing to ask."""
        if self._counts["questions"]:
            self._forecast(report)
        if self._sessions:
            self._account(report)

    def _forecast(self, report: Report) -> None:
        settings, counts = self._settings, self._counts
        number, prompt = counts["questions"], counts["prompt"]
        longest = settings.max_output_tokens
        # what is judged, and so whether anything is, only the answers tell
        usual, most = number * min(USUAL_ANSWER, longest), number * longest + counts["judging"]
        share = DISCOUNT if settings.batch else 1.0
        usual_usd, most_usd = (Meter(settings).price(prompt, answers) * share for answers in (usual, most))
        asked, over = counted(number, "question"), counted(counts["sessions"], "session")
        text = (
            f"{settings.name} would be asked {asked} about {over}: about"
            f" {prompt + usual:,} tokens, at most {prompt + most:,}{_money(usual_usd, most_usd)}"
            f"{', at a batch price' if settings.batch else ''}"
        )
        report.items.append(Item(self._project, "forecast", text + self._budgets(), self._project))
        for name, value in (
            ("model_sessions", counts["sessions"]),
            ("model_questions", number),
            ("model_tokens_foreseen", prompt + usual),
            ("model_micro_usd_foreseen", round(usual_usd * _MICRO)),
        ):
            if value:
                report.count(name, value)

    def _budgets(self) -> str:
        settings = self._settings
        limits = [f"{settings.budget_tokens:,} tokens"] if settings.budget_tokens else []
        if settings.budget_usd:
            limits.append(f"{settings.budget_usd:g} USD")
        assumed = ""
        if prices_of(settings) != (settings.price_input, settings.price_output):
            assumed = "; without model.price_input and model.price_output high prices are assumed"
        return (f"; a run stops at {' and '.join(limits)}, the rest waits for the next" if limits else "") + assumed

    def _account(self, report: Report) -> None:
        counts = self._counts
        dropped = ", ".join(f"{reason} {number}" for reason, number in sorted(self._dropped.items()))
        gave, over = counted(counts["answers"], "answer"), counted(len(self._sessions), "session")
        text = (
            f"{self._settings.name} gave {gave} about {over}:"
            f" {counts['prompt']:,} + {counts['completion']:,} tokens{_money(self._usd, self._usd)};"
            f" {counts['kept']} candidates" + (f"; dropped: {dropped}" if dropped else "")
        )
        report.items.append(Item(self._project, "model", text, self._project))
        for name, value in (
            ("model_answers", counts["answers"]),
            ("model_prompt_tokens", counts["prompt"]),
            ("model_completion_tokens", counts["completion"]),
            ("model_micro_usd", round(self._usd * _MICRO)),
            ("model_postponed", counts["postponed"]),
            ("model_pending", counts["pending"]),
            ("model_given_up", len(self._given_up)),
            ("model_judgements", counts["judgements"]),
            ("model_unjudged", counts["unjudged"]),
            *((f"model_dropped_{reason}", number) for reason, number in sorted(self._dropped.items())),
        ):
            if value:
                report.count(name, value)
        report.items += [Item(session, "asked", why, self._project) for session, why in self._pending.items()]
        self._name(report, self._left, "postponed", "waits for the next run")
        self._name(report, self._given_up, "offline", "is left to the offline miners")

    def _name(self, report: Report, sessions: dict[str, str], action: str, what: str) -> None:
        """Name every session in the items, and the first of them with the reasons in one warning."""
        if not sessions:
            return
        for session, reason in sessions.items():
            report.items.append(Item(session, action, f"{what}: {reason}", self._project))
        named = list(sessions)
        more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
        reasons = "; ".join(dict.fromkeys(sessions.values()))
        report.warnings.append(
            f"{self._project}: {self._settings.name} {what} with {len(named)} sessions"
            f" ({', '.join(named[:_MOST_NAMED])}{more}): {reasons}"
        )


def _money(usual: float, most: float) -> str:
    if not most:
        return ""
    return f", {usual:.4f} USD" if usual == most else f", about {usual:.4f} USD, at most {most:.4f}"
