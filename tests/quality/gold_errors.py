"""What is wrong with the findings, by class: what a rule would have to tell apart."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from tests.quality.gold_found import Finding
from tests.quality.gold_labels import Label
from tests.quality.reading import typed_turns
from tests.quality.scores import Scored
from tests.quality.table import Table

_NEAR = 6
_STATE = re.compile(r"\b(?:now|currently|this (?:pr|branch|commit|test|file|time)|right now|again)\b", re.IGNORECASE)


def false_class(finding: Finding, session: Scored) -> str:
    """Return the class of a finding that no label has."""
    if finding in session.distracted:
        return "a distractor"
    if not finding.origin.startswith("user"):
        return f"{finding.system}: seen in commands, nobody labelled it"
    lines = {line for path, line in finding.places if path == str(session.session)}
    labelled = {line for label in (*session.found, *session.missed) for _, line in label.places}
    if any(abs(a - b) <= _NEAR for a in lines for b in labelled):
        return "typed within six records of a labelled one"
    return "typed, about the moment" if _STATE.search(finding.text) else "typed, nobody labelled it"


def missed_class(label: Label, session: Scored) -> str:
    """Return the class of a label that was not found."""
    typed = {turn.line for turn in typed_turns(session.session)}
    is_typed = any(line in typed for _, line in label.places)
    hard = "" if label.findable else ", hard offline"
    if label.origin.startswith("user"):
        return f"{label.origin}, {'a typed record' if is_typed else 'not read as typed'}{hard}"
    return f"{label.origin}{hard}"


def error_tables(sessions: Sequence[Scored]) -> list[Table]:
    """Return how often each class of error occurs."""
    false = Counter(false_class(f, s) for s in sessions for f in s.wrong)
    missed = Counter(missed_class(label, s) for s in sessions for label in s.missed)
    return [
        Table("Findings that nobody labelled, by class", ("class", "number"), _rows(false)),
        Table("Labels that were not found, by class", ("class", "number"), _rows(missed)),
    ]


def error_lines(sessions: Sequence[Scored]) -> Iterator[str]:
    """Yield every error by its class."""
    for session in sessions:
        yield f"--- {session.session.parent.name}/{session.session.name}"
        for finding in session.wrong:
            lines = sorted(line for path, line in finding.places if path == str(session.session))
            yield (
                f"  false   [{false_class(finding, session)}] {finding.system} {finding.confidence:.2f} "
                f"line {lines}: {finding.text[:160]}"
            )
        for label in session.missed:
            lines = sorted(line for _, line in label.places)
            yield f"  missed  [{missed_class(label, session)}] {label.category} line {lines}: {label.statement[:160]}"


def _rows(classes: Counter[str]) -> list[tuple[str, str]]:
    return [(name, str(number)) for name, number in classes.most_common()]
