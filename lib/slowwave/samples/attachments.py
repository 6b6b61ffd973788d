"""What the 2.1 client attaches to prompts and tool results: the environment, the model, the date, the token budget."""

from collections.abc import Iterator

from slowwave.samples.envelope import MODELS, Envelope, Json

_BUDGET = 1_000_000


def before_answer(envelope: Envelope, *, first: bool) -> Iterator[Json]:
    """Yield the attachments that go with a prompt, all of them with the session's first."""
    if first:
        yield environment(envelope)
        yield model(envelope)
    yield _budget(envelope, 0)
    yield _attachment(envelope, {"type": "session_context", "context": {}})
    if first:
        day = envelope.watch.iso()[:10]
        shown = f"Today's date is {day}."
        yield _attachment(envelope, {"type": "date", "date": day}, shown, "system")


def after_results(envelope: Envelope, used: int) -> Iterator[Json]:
    """Yield the attachment that follows tool results."""
    yield _budget(envelope, used)


def environment(envelope: Envelope) -> Json:
    """Return the attachment that tells the model where it works."""
    snapshot: Json = {
        "workingDirectory": envelope.cwd,
        "isWorktree": False,
        "isGitRepo": True,
        "additionalWorkingDirectories": [],
        "platform": "linux",
        "shell": "bash",
        "osVersion": "Linux 6.8.0",
    }
    shown = f"# Environment\nPrimary working directory: {envelope.cwd}\nPlatform: linux\nShell: bash"
    return _attachment(envelope, {"type": "environment", "snapshot": snapshot}, shown, "system")


def model(envelope: Envelope) -> Json:
    """Return the attachment that tells the model its own name."""
    name = MODELS[envelope.layout]
    text = f"You are powered by the model named Sonnet 4.5. The exact model ID is {name}."
    identity = {"modelId": name, "marketingName": "Sonnet 4.5", "knowledgeCutoff": "January 2025"}
    return _attachment(envelope, {"type": "model", "identity": identity, "text": text}, text, "system")


def _budget(envelope: Envelope, used: int) -> Json:
    text = f"<total_tokens>{_BUDGET - used} tokens left</total_tokens>"
    return _attachment(envelope, {"type": "total_tokens_reminder", "text": text}, text, "system")


def _attachment(envelope: Envelope, attachment: Json, shown: str = "", role: str = "") -> Json:
    middle: Json = {
        "attachment": attachment,
        "type": "attachment",
        "uuid": envelope.ids.uuid(),
        "timestamp": envelope.watch.iso(),
    }
    if shown:
        middle["rendered"] = [{"content": f"<system-reminder>\n{shown}\n</system-reminder>"}]
        middle["renderedRole"] = role
    return middle
