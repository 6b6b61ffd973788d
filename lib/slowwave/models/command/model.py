"""A model that is a program: it is given the question and prints the answer.

Its form can only be asked for: the schema stands in the question. It runs in an empty temporary folder whose name tells
whose session it is, for programs that keep their sessions whatever they are told.
"""

import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from slowwave.models.base import Ask, Form
from slowwave.models.command.agents import agent_of
from slowwave.models.command.printed import last_line
from slowwave.models.command.process import Ended, found_program, run
from slowwave.models.faults import Fault
from slowwave.models.ladder import LadderModel
from slowwave.models.meter import Meter
from slowwave.models.reply import Completion, with_schema
from slowwave.places import ASKING
from slowwave.settings import ModelSettings

_VERSION_LIMIT = timedelta(seconds=20)


class CommandModel(LadderModel):
    """A language model; see :class:`slowwave.models.base.LanguageModel`.

    Args:
        settings: the command, limits.
        environ: the environment that the program gets: its login may live there.
        meter: the account of the run.
        sleep: waits between attempts.
        jitter: a random number from 0 to 1, so that many attempts do not come at once.
    """

    forms: Sequence[Form] = ("json", "lines")
    is_form_held = False

    def __init__(
        self,
        settings: ModelSettings,
        environ: Mapping[str, str],
        meter: Meter,
        *,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        super().__init__(settings, meter, sleep=sleep, jitter=jitter)
        self.where = Path(settings.command[0]).name
        self.remedy = "check model.command and the program's own login"
        self._environ = environ
        self._agent = agent_of(settings.command[0])
        self._version: str | None = None

    def version(self) -> str:
        """Return the program and its version as it tells it; of a program that nobody knows the name alone."""
        with self._lock:
            if self._version is None:
                self._version = f"{self.where} {self._asked_version()}".strip()
                self._meter.note_program(self._version)
            return self._version

    def _asked_version(self) -> str:
        if not self._agent.has_version:
            return ""
        try:
            ended = self._run([self._program(), "--version"], "", _VERSION_LIMIT)
        except Fault:
            return ""  # the question itself will tell what is wrong
        return last_line(ended.out) or last_line(ended.err) if ended.code == 0 else ""

    def _request(self, ask: Ask, form: Form) -> Mapping[str, Any]:
        system = with_schema(ask.system, ask.schema) if form == "json" else f"{ask.system}\n\n{ask.line_form}"
        return {"question": f"{system}\n\n{ask.user}\n"}

    def _texts(self, request: Mapping[str, Any]) -> Sequence[str]:
        return [request["question"]]

    def _send(self, request: Mapping[str, Any]) -> Completion:
        self.version()
        own = [self._program(), *self._settings.command[1:]]
        command = self._agent.arguments(own, self._settings.name, self._environ)
        ended = self._run(command, request["question"], self._settings.timeout)
        said = self._agent.read(ended.out)
        if ended.code:
            why = last_line(ended.err) or last_line(ended.out) or "it printed nothing"
            raise Fault("exit", f"ended with exit code {ended.code}: {why}")
        if not said.text.strip():
            raise Fault("exit", f"printed no answer: {last_line(ended.err) or 'it gave no reason'}")
        return said

    def _program(self) -> str:
        """Return the path of the program.

        Raises:
            Fault: there is none.
        """
        named = self._settings.command[0]
        found = found_program(named, self._environ)
        if found is None:
            raise Fault("missing", f"there is no program {named!r} that can be run")
        return found

    def _run(self, command: Sequence[str], question: str, limit: timedelta) -> Ended:
        with tempfile.TemporaryDirectory(prefix=ASKING, ignore_cleanup_errors=True) as folder:
            given = question.encode("utf-8", "replace")
            return run(command, given, Path(folder), self._environ, limit, dropped=self._agent.dropped)
