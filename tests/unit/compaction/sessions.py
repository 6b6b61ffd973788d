"""Builds sessions for ledgers and proofs: what was typed, said, called and answered, with a record for each."""

from slowwave.formats import Block, Injected, Message, Origin, Role, Span, Text, ToolCall, ToolResult
from slowwave.formats.messages import PlainMessage

CWD = "/repo"


class Talk:
    """A session that grows; every message has a record of its own, 100 bytes after the one before."""

    def __init__(self, cwd: str = CWD) -> None:
        self.messages: list[Message] = []
        self._cwd = cwd
        self._calls = 0
        self._active, self._sidechain = True, False

    def aside(self, *, active: bool = True, sidechain: bool = False) -> "Talk":
        """Let what follows stand on an abandoned branch, or be a sub-agent's."""
        self._active, self._sidechain = active, sidechain
        return self

    def typed(self, text: str) -> "Talk":
        return self._add("user", "typed", Text(text))

    def injected(self, text: str) -> "Talk":
        return self._add("user", "injected", Text(text))

    def beside(self, typed: str, injected: str) -> "Talk":
        """Add what a person typed, with what the client put beside it into the same record."""
        return self._add("user", "typed", Text(typed), Injected(injected))

    def said(self, text: str) -> "Talk":
        return self._add("assistant", "model", Text(text))

    def summary(self, text: str) -> "Talk":
        return self._add("user", "summary", Text(text))

    def call(self, tool: str, output: str | None = "ok", *, error: bool = False, **args: object) -> "Talk":
        """Add a call and its result; without ``output`` it has none."""
        self._calls += 1
        name = f"call{self._calls}"
        self._add("assistant", "model", ToolCall(name, tool, args))
        return self if output is None else self._add("tool", "tool", ToolResult(name, output, error))

    def patch(self, text: str) -> "Talk":
        """Add a free-form call as Codex makes it."""
        self._calls += 1
        self._add("assistant", "model", ToolCall(f"call{self._calls}", "apply_patch", text))
        return self._add("tool", "tool", ToolResult(f"call{self._calls}", "Exit code: 0\nDone!"))

    def run(self, line: str, output: str = "", code: int = 0) -> "Talk":
        """Add a shell call of which the client tells the exit code."""
        text = f"Exit code {code}\n{output}" if code else output or "done"
        return self.call("Bash", text, error=bool(code), command=line)

    def _add(self, role: Role, origin: Origin, *blocks: Block) -> "Talk":
        number = len(self.messages)
        span = Span(0, number + 1, 100 * number, b"x" * 90)
        made = PlainMessage(
            role,
            blocks,
            (span,) * len(blocks),
            origin,
            f"m{number}",
            cwd=self._cwd,
            active=self._active,
            sidechain=self._sidechain,
        )
        self.messages.append(made)
        return self
