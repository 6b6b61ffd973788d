"""How good the miners are on real sessions with labels: a floor, so that a change for the worse shows."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from slowwave.dialects.model import SessionFiles
from slowwave.dialects.registry import by_name
from slowwave.extraction.events import events_of
from slowwave.extraction.mining import mine
from slowwave.extraction.redact import redactor_for
from slowwave.memory.model import Candidate, SessionRef

SHARED = Path(__file__).parents[3].parent / "shared"
REDACT = redactor_for("gold")
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not (SHARED / "gold").is_dir(), reason="the labelled sessions are not beside the checkout"),
]


def labels() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for file in sorted((SHARED / "gold").glob("*.jsonl")):
        for line in file.read_text().splitlines():
            label = json.loads(line)
            if label["session"].startswith("claude-code/"):
                found[label["session"]].append(label)
    return found


def cited(candidate: Candidate, data: bytes) -> set[int]:
    return {data[: item.offset].count(b"\n") + 1 for item in candidate.evidence}


def lines_of(label: dict[str, Any]) -> set[int]:
    return {item["line"] for item in label["evidence"]}


def test_most_of_what_is_found_was_labelled_and_distractors_are_rarely_hit():
    right = wrong = people = people_right = distractors = hit = 0
    recalled: dict[str, list[bool]] = defaultdict(list)
    for session, of_session in labels().items():
        path = SHARED / "corpus" / session
        data = path.read_bytes()
        transcript = by_name("claude").read(SessionFiles(path.stem, (path,)))
        ref = SessionRef("claude", path.stem, str(path))
        found = mine(events_of(transcript.messages, REDACT), ref, (path,), REDACT, min_confidence=0.5).candidates
        good = [label for label in of_session if not label.get("distractor")]
        for candidate in found:
            is_right = any(lines_of(label) & cited(candidate, data) for label in good)
            right, wrong = right + is_right, wrong + (not is_right)
            people += candidate.origin.startswith("user")
            people_right += is_right and candidate.origin.startswith("user")
        every = {line for candidate in found for line in cited(candidate, data)}
        for label in of_session:
            if label.get("distractor"):
                distractors, hit = distractors + 1, hit + bool(lines_of(label) & every)
            else:
                recalled[label["origin"]].append(bool(lines_of(label) & every))
    assert right / (right + wrong) >= 0.75
    assert people_right / people >= 0.8
    assert hit / distractors <= 0.06
    assert sum(recalled["user_correction"]) / len(recalled["user_correction"]) >= 0.5
    assert sum(recalled["user_explicit"]) / len(recalled["user_explicit"]) >= 0.37
