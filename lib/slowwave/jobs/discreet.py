"""The last look at a report before it leaves the library: whatever it quotes, it holds no secret.

Redaction stands before everything that is kept (:mod:`slowwave.secrets`); but reasons, titles, names of files and
errors quote what they stumbled over, and a report is printed, logged, kept by the scheduler and shown in its pages.
Every report passes here, whichever way it goes: as the result of a direct run, of a portion, or of a whole flow.
"""

import msgspec

from slowwave.report import Gate, Item, Report
from slowwave.secrets.redactor import NAMELESS


def discreet(report: Report) -> Report:
    """Return a report without secrets; marks that stand in it already stay as they are."""
    return msgspec.structs.replace(
        report,
        gates=[_gate(gate) for gate in report.gates],
        items=[_item(item) for item in report.items],
        warnings=_clean(report.warnings),
        failures=_clean(report.failures),
        parked=_clean(report.parked),
        memories={NAMELESS(key): NAMELESS(path) for key, path in report.memories.items()},
        unknown_types={NAMELESS(kind): number for kind, number in report.unknown_types.items()},
        phases={NAMELESS(key): phases for key, phases in report.phases.items()},
        spans=[msgspec.structs.replace(span, project=NAMELESS(span.project)) for span in report.spans],
    )


def discreet_all(reports: dict[str, Report]) -> dict[str, Report]:
    """Return the reports of several projects without secrets; the keys are the run's own and never shown."""
    return {key: discreet(report) for key, report in reports.items()}


def _gate(gate: Gate) -> Gate:
    return Gate(gate.gate, NAMELESS(gate.project), gate.passed, NAMELESS(gate.reason))


def _item(item: Item) -> Item:
    target, reason, project, text = map(NAMELESS, (item.target, item.reason, item.project, item.text))
    return msgspec.structs.replace(item, target=target, reason=reason, project=project, text=text)


def _clean(lines: list[str]) -> list[str]:
    return [NAMELESS(line) for line in lines]


def discreet_error(error: BaseException) -> BaseException:
    """Return an error without secrets, also in what caused it; the scheduler keeps its message and its traceback.

    The error itself is cleaned where that is possible, so that its type still says whether a retry helps.
    """
    _clean_chain(error, set())
    return _shown(error)


def _clean_chain(error: BaseException | None, seen: set[int]) -> None:
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    error.args = tuple(NAMELESS(one) if isinstance(one, str) else one for one in error.args)
    if isinstance(error, OSError):
        # it makes its message of these
        for name in ("strerror", "filename", "filename2"):
            if isinstance(text := getattr(error, name), str):
                setattr(error, name, NAMELESS(text))
    if hasattr(error, "__notes__"):
        error.__notes__ = _clean(error.__notes__)
    _clean_chain(error.__cause__, seen)
    _clean_chain(error.__context__, seen)
    is_hidden = error.__suppress_context__
    if error.__cause__ is not None:
        error.__cause__ = _shown(error.__cause__)
    if error.__context__ is not None:
        error.__context__ = _shown(error.__context__)
    error.__suppress_context__ = is_hidden


def _shown(error: BaseException) -> BaseException:
    """Return an error whose message is clean: another one for what makes its message of things that cannot change."""
    text = str(error)
    clean = NAMELESS(text)
    return error if clean == text else RuntimeError(f"{type(error).__name__}: {clean}")
