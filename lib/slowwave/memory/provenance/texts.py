"""What stood in a session, by who wrote it: people, the agent, and tools."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import cast

from slowwave.formats.model import Injected, Message, Span, Text, ToolCall, ToolResult, Transcript
from slowwave.letters import plain, visible
from slowwave.memory.foreign import ForeignLine, Source
from slowwave.memory.names import name_to_json
from slowwave.memory.provenance.phrases import phrases
from slowwave.memory.provenance.readback import MemoryPlaces
from slowwave.reading.dialogs import answers_in
from slowwave.reading.echo import echoes
from slowwave.reading.harness import refusal_in, written_texts
from slowwave.reading.items import Heard
from slowwave.stores.model import StoredSession

# how a client writes a file that somebody named in a prompt (client: Claude Code 1.0 to 2.1)
_ATTACHED = "Result of calling the"
# of all texts, so that none is too late
_LAST = 1 << 60


class Texts:
    """The texts of a session, by kind, each with where it stood."""

    def __init__(self, session: StoredSession, places: MemoryPlaces) -> None:
        self.heard: dict[str, list[Heard]] = defaultdict(list)
        self.sources: list[Source] = []
        self._session = session
        self._place = (session.dialect, name_to_json(session.id), name_to_json(session.files.paths[0]))
        self._places = places
        self._calls: dict[str, ToolCall] = {}
        # a session without times stands where its file does
        self._at = datetime.fromtimestamp(session.mtime_ns / 1e9, UTC)
        self._is_timed = False

    def read(self, transcript: Transcript) -> "Texts":
        """Take in every message: also those of branches that were left, and of sub-agents."""
        for message in transcript.messages:
            if message.timestamp is not None and (not self._is_timed or message.timestamp > self._at):
                self._at, self._is_timed = message.timestamp, True
            for block, span in message.placed():
                self._take(block, span, message)
        return self

    def found(self, lines: Sequence[ForeignLine]) -> list[tuple[ForeignLine, str, Source]]:
        """Return which lines stood where: of each kind the first place."""
        wanted = [(_LAST, _looks(line.text)) for line in lines]
        return [
            (lines[number], kind, self.sources[int(place)])
            for kind, heard in self.heard.items()
            for number, place in (echoes(wanted, heard) | phrases(lines, heard)).items()
        ]

    def _take(self, block: object, span: Span, message: Message) -> None:
        match block:
            case ToolCall():
                self._calls[block.id] = block
                self._note("said", written_texts(block.name, block.args), f"a call of {block.name}", message)
            case ToolResult():
                self._result(block, span, message)
            case Injected() if _ATTACHED in block.text and not self._names_memory(block.text):
                self._note("shown", [block.text], "a file that was attached", message)
            case Text() if message.role == "assistant":
                self._note("said", [block.text], "a message of the agent", message)
            case Text() if message.role == "user" and (message.sidechain or self._session.kind == "subagent"):
                self._note("said", [block.text], "the task of a sub-agent", message)
            case Text() if message.origin == "typed" and self._session.origin == "hook":
                self._note("shown", [block.text], "a call from outside", message)
            case Text() if message.origin == "typed":
                self._note("typed", [block.text], "a message that a person typed", message)
            case _:
                pass

    def _result(self, result: ToolResult, span: Span, message: Message) -> None:
        call = self._calls.pop(result.id, None)
        name = call.name if call else ""
        given: object = call.args if call else None
        args = cast("Mapping[str, object]", given if isinstance(given, dict) else {})
        reason = refusal_in(name, result, span.raw) or ""
        answers = [] if reason else list(answers_in(name, args, result, span.raw))
        if reason or answers:
            said = (words for answer in answers for words in (answer.words, answer.notes))
            self._note("typed", [reason, *said], "a person's answer", message)
            return
        text = self._places.shown_beside(name, call.args if call else None, message.cwd, result.text)
        self._note("shown", [text], f"the output of {name or 'a tool'}", message)

    def _names_memory(self, text: str) -> bool:
        return any(folder in text for folder in self._places.folders)

    def _note(self, kind: str, texts: Iterable[str], by: str, message: Message) -> None:
        for text in filter(None, texts):
            number = len(self.sources)
            at = self._at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            source = Source(at, number, by, *self._place, message.id or "")
            self.sources.append(source)
            self.heard[kind].append(Heard(number, _looks(text), str(number)))


def _looks(text: str) -> str:
    """Return a text as it looks: no hidden character, borrowed letter or capital (of \u00df it is SS) parts a word."""
    return text if text.isascii() else plain(visible(text)).casefold()
