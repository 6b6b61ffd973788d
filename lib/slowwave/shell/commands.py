"""Temporary stand-in until the core's shell lexer is merged."""

from dataclasses import dataclass

from slowwave.extraction.endings import ending
from slowwave.extraction.shell import Purpose, error_line, steps_of


@dataclass(frozen=True, slots=True)
class Proven:
    text: str
    program: str
    purpose: Purpose
    outcome: str


@dataclass(frozen=True, slots=True)
class Run:
    line: str
    commands: tuple[Proven, ...]
    ok: bool
    code: int | None


def run_of(line, output, *, is_error):
    ok, code = ending(line, output, is_error=is_error)
    return Run(
        line,
        tuple(Proven(s.text, s.program, s.purpose, "succeeded" if ok else "failed") for s in steps_of(line)),
        ok,
        code,
    )


def cause_of(output):
    return error_line(output)
