"""Which texts of user messages the Codex harness wrote: context that no person typed.

Source: the client's registry of contextual fragments (each has an opening and a closing mark, compared without regard
to case) and real files (corpus.md 14).
"""

import re

from slowwave.dialects.model import Block, Injected, Text

SUMMARY_PREFIX = (
    "Another language model started to solve this problem and produced a summary of its thinking process."
    " You also have access to the state of the tools that were used by that language model. Use this to build on"
    " the work that has already been done and avoid duplicating work. Here is the summary produced by the other"
    " language model, use the information in this summary to assist with your own analysis:"
)
_TAGS = (
    *("environment_context", "user_instructions", "skill", "user_shell_command", "turn_aborted", "goal_context"),
    *("subagent_notification", "hook_prompt", "codex_internal_context", "additional_context", "recommended_plugins"),
    *("model_switch", "permissions instructions", "collaboration_mode", "skills_instructions", "apps_instructions"),
)
_TAGGED = re.compile(rf"<({'|'.join(_TAGS)})[\s>]", re.IGNORECASE)
# Instructions that the client writes in front of a turn when they have changed.
_RENEWED = re.compile(
    r"<(?:permissions instructions|model_switch|collaboration_mode|realtime_conversation|personality_spec|tools"
    r"|rollout_budget|token_budget|skills_instructions|plugins_instructions|apps_instructions|persistent_mode"
    r"|multi_agent_role|multi_agent_mode|managed_developer_instructions|environments_instructions|git_attribution"
    r"|context_window_guidance|context_window)>",
    re.IGNORECASE,
)
# Context in the user's role as client 0.169 itself knows it (tried): narrower than what its harness ever wrote.
_CONTEXT = re.compile(
    r"<(environment_context|recommended_plugins|agent_message_board_notification|skill|subagent_notification"
    r"|goal_context|turn_aborted|user_shell_command|external_[^>\s]+)>.*</\1>"
    r"|<(hook_prompt|codex_internal_context)\s.*</\2>"
    r"|# agents\.md instructions.*</instructions>"
    r"|warning: the maximum number of unified exec processes.*"
    r"|warning: apply_patch was requested via .*use the apply_patch tool instead of exec_command\."
    r"|warning: your account was flagged for poten.*",
    re.IGNORECASE | re.DOTALL,
)
_AGENTS = ("# agents.md instructions", "</instructions>")
# Marks around an attached picture, and warnings that older versions recorded as if the user had said them.
_IMAGE = re.compile(r"<image(?: name=[^>]*)?>|</image>")
_WARNINGS = (
    "Warning: The maximum number of unified exec processes",
    "Warning: apply_patch was requested via",
    "Warning: Your account was flagged",
)
# Editors put their state in front of what a person asks (seen in the client's IDE extensions).
_EDITOR = "# Context from my IDE setup:"
_REQUEST = "## My request for Codex:"


def is_injected(text: str) -> bool:
    """Say whether the harness wrote the whole of ``text``."""
    bare = text.strip()
    low = bare.lower()
    if low.startswith(_AGENTS[0]):
        return low.endswith(_AGENTS[1])
    if (tag := _TAGGED.match(bare)) is not None:
        return low.endswith(f"</{tag[1].lower()}>")
    return _IMAGE.fullmatch(bare) is not None or bare.startswith(_WARNINGS)


def is_picture_mark(text: str) -> bool:
    """Say whether ``text`` is one of the marks around an attached picture."""
    return _IMAGE.fullmatch(text.strip()) is not None


def is_context(text: str) -> bool:
    """Say whether the client takes a user's ``text`` for its own context, which is no turn."""
    return _CONTEXT.fullmatch(text.strip()) is not None


def is_instruction(text: str) -> bool:
    """Say whether a developer's ``text`` is context that the client renews at every turn."""
    return _RENEWED.match(text.lstrip()) is not None


def is_summary(text: str) -> bool:
    """Say whether ``text`` is a summary that the client wrote when it compacted."""
    return text.startswith(SUMMARY_PREFIX + "\n")


def split_typed(text: str) -> list[Block]:
    """Return what the harness and what a person wrote of one text, in order."""
    if is_injected(text):
        return [Injected(text)]
    if text.startswith(_EDITOR) and _REQUEST in text:
        head, mark, asked = text.partition(_REQUEST)
        return [Injected(head + mark), Text(asked.strip())]
    return [Text(text)]
