"""What the output of a command says: its exit code, whether its tests passed, and the line that tells why it failed."""

import re
from typing import Literal

Verdict = Literal["passed", "failed", "nothing", ""]

CAUSE_CHARS = 160
_MOST_LINES = 60
_ENDING_CHARS = 200
# errors that tell how a machine or a tool is set up; a failing test or a compile error does not
_SETUP_ERROR = re.compile(
    r"command not found|not recognized as|not found in PATH|No such file or directory|no such file"
    r"|cannot find module|No module named|ModuleNotFoundError"
    r"|unrecognized (?:sub)?command|unknown (?:sub)?command|unrecognized (?:option|argument)"
    r"|unknown (?:option|flag|argument|shorthand)"
    r"|invalid (?:option|choice|flag|argument)|no such (?:option|command|subcommand)|illegal option"
    r"|flag provided but not defined|Missing script"
    r"|No rule to make target|Permission denied|EACCES|ENOENT|not a git repository"
    r"|does not contain main module|cannot find main module|go\.mod file not found"
    r"|externally-managed-environment|Connection refused|ECONNREFUSED|address already in use"
    r"|requires (?:python|node|go)|Unsupported engine|version .{0,30} (?:is )?required"
    r"|not installed|could not be found|Could not find|is not a valid|must be run (?:from|as|in)"
    r"|not allowed|authentication required|please (?:run|install|set|use)|did you mean"
    # a variable or a setting that has no value; names of variables are in capitals
    r"|(?-i:\b[A-Z][A-Z0-9]{0,40}(?:_[A-Z0-9]{1,40}){1,8}\b|\b(?:PORT|HOST|TOKEN|[A-Z]{0,20}HOME|EDITOR)\b)"
    r"[\"'`]?(?: environment variable| env var)? (?:is |was |must be |has to be )?"
    r"(?:not set|not configured|not provided|unset|missing|required|set\b|empty)"
    r"|(?:missing|undefined|unset|required) (?:required )?env(?:ironment)? variables?"
    r"|KeyError: '(?-i:[A-Z][A-Z0-9_]{2,})'"
    r"|unbound variable|parameter not set"
    # a service or a database that is not ready
    r"|could not connect to|connection to .{0,60} failed|no such table|relation .{1,60} does not exist"
    r"|(?:database|role|table|schema) .{1,60} does(?:n't| not) exist|unknown database|pending migrations?"
    r"|cannot connect to the docker daemon",
    re.IGNORECASE,
)
_WARNING = re.compile(r"(?:npm )?warn(?:ing)?\b", re.IGNORECASE)
_ERROR = re.compile(r"\b(?:error|failed|failure|fatal|exception|panic|cannot|can't|unable|denied)\b", re.IGNORECASE)
# client: Codex puts up to three lines of its own before the one with the code
_EXIT = re.compile(
    r"\A\s*(?:(?:Chunk ID|Wall time|Original token count): [^\n]*\n){0,3}"
    r"(?:Exit code|exit code|Process exited with code|exit status)[: ]+(-?\d+)"
)
# client: pi puts the code behind what a command printed
_EXIT_BEHIND = re.compile(r"(?:^|\n)Command exited with code (\d+)\s*\Z")
_HEAD = re.compile(
    r"\A(?:(?:Chunk ID|Wall time|Original token count|Output|Exit code|Process exited with code)\b[^\n]*\n){1,5}"
)
# client: Codex and Claude Code answer so while the command still runs
_STILL_RUNS = re.compile(
    r"\A\s*(?:(?:Chunk ID|Wall time)[^\n]*\n){0,2}Process running with session ID (\d+)"
    r"|\A(?:Command running in background|Command was manually backgrounded|Command did not complete)"
)
# client: what clients answer to a call that a person refused or broke off
_REFUSED = re.compile(
    r"^(?:<tool_use_error>)?(?:Wall time: [^\n]*\n)?(?:The user doesn't want|\[Request interrupted|aborted by user"
    r"|exec command rejected by user|Tool call (?:was )?rejected|Operation aborted|Cancelled: parallel tool call"
    r"|The user rejected)",
    re.IGNORECASE,
)
# who complains about a call: the shell, or a program in its own name, at the start of a line
_COMPLAINS = re.compile(
    r"^(?:error\b|fatal\b|usage error|unknown |unrecognized |unexpected |invalid |cannot |could not |no such "
    r"|(?:/\S+/)?(?:ba|z|da|fi|k)?sh: |\(eval\):|npm (?:err!|error)|make(?:\[\d+\])?: |\w*Error: |\w*Exception: "
    r"|[\w.+-]{2,30}: (?:error|fatal|unknown|unrecognized|invalid|illegal|no such|cannot|command not found"
    r"|not found)\b)",
    re.IGNORECASE,
)
# what was let through by a filter; a longer text is a log or a file that speaks of errors
_MOST_COMPLAINT_LINES = 15
_CODE = re.compile(r"(?:^|[^\w.-])(\d{1,3})\W*$")
# the summaries of test runners; numbers first, since "0 failed" is no failure
_FAILURES = re.compile(
    r"^(?:=+ .*|\s*|.*[|:,;(] ?|Test(?: Suite| File)?s:?\s.*|test result: .*|[\u2139#] )"
    r"[1-9]\d* (?:tests? |specs? |test files? )?(?:failed|failing|failures?|errors?|fail)\b"
    r"|^(?:# |\u2139 )?fail(?:ed|ures)?:? [1-9]|\b(?:failures|errors|failed)[=:] ?[1-9]\d*\b"
    r"|^(?:FAIL|FAILED)(?:$|[\t :(])|^--- FAIL: |^not ok \d|^test result: FAILED|^FAILED \(|^BUILD FAILED"
    r"|^make(?:\[\d+\])?: \*\*\* |^ERROR: .*collecting|^E {3}|\bpanic: |\bFound [1-9]\d* errors?\b"
    # compilers and checkers name a place, or nothing but the error
    r"|^\S+[:(]\d+[^\n]{0,16}: error\b|^error(?:\[E\d+\])?: ",
    re.MULTILINE,
)
_PASSES = re.compile(
    r"\b[1-9]\d* (?:tests? |specs? |examples?, )?(?:passed|passing|pass|0 failures)\b|^ok[ \t]+\S|^PASS$"
    r"|^(?:# |\u2139 )?pass [1-9]|^test result: ok\. [1-9]|^Ran [1-9]\d* tests?\b|^(?:Passed!|BUILD SUCCESS)",
    re.MULTILINE,
)
_NOTHING = re.compile(
    r"\bno tests? (?:ran|found|collected|to run|were found)\b|\bcollected 0 items\b|\[no test files\]"
    r"|\[no tests to run\]"
    r"|^\s*0 passing\b|\bno test files found\b|\brunning 0 tests\b|^Ran 0 tests\b|\bNo tests found\b"
    r"|^(?:# |\u2139 )?tests 0$"
    r"|\bno test (?:files|suites?) (?:were )?found\b|\b0 tests? (?:passed|executed|ran)\b|\bNo test is available\b",
    re.MULTILINE | re.IGNORECASE,
)
# of a Python traceback the last such line is what went wrong, not the code that it quotes
_RAISED = re.compile(r"^(?:[\w.]*(?:Error|Exception|Exit|Interrupt|Warning)\b.*)$", re.MULTILINE)
# pytest writes an E before what it expected and did not get
_ASSERTED = re.compile(r"^E {2,}\S.*$", re.MULTILINE)
_NAMED = re.compile(
    r"^.*(?:[a-z]Error|[a-z]Exception|\bFAIL(?:ED|URE)?\b|\bpanic:|\bnot ok\b|\u2717|\u2715).*$", re.MULTILINE
)


def exit_code(output: str) -> int | None:
    """Return the exit code that a tool result names, or None."""
    found = _EXIT.match(output) or _EXIT_BEHIND.search(output[-_ENDING_CHARS:])
    return int(found[1]) if found else None


def still_runs(output: str) -> bool:
    """Say whether a tool result tells that the command has not come to an end."""
    return _STILL_RUNS.match(output) is not None


def is_refused(output: str) -> bool:
    """Say whether a tool result tells that a person refused the call or broke it off: nothing went wrong or well."""
    return _REFUSED.match(output) is not None


def running_as(output: str) -> str:
    """Return the name under which a client lets a command run on and asks for the rest of its output, or ""."""
    found = _STILL_RUNS.match(output)
    return (found[1] or "") if found else ""


def printed(output: str) -> str:
    """Return a result without the lines that the client put before what the command printed."""
    return _HEAD.sub("", output)


def verdict_of(text: str) -> Verdict:
    """Return what the summary of a test runner says: failures, passes, or that it ran nothing; "" without one."""
    if _FAILURES.search(text):
        return "failed"
    if _PASSES.search(text):
        return "passed"
    return "nothing" if _NOTHING.search(text) else ""


def complaint_in(text: str) -> str:
    """Return the line with which a shell or a program refuses a call, where little else was let through; or ""."""
    lines = [line.strip() for line in text.split("\n", _MOST_COMPLAINT_LINES + 1) if line.strip()]
    if len(lines) > _MOST_COMPLAINT_LINES:
        return ""
    return next((line for line in lines if _COMPLAINS.match(line) and setup_error(line)), "")


def told_code(text: str) -> int | None:
    """Return the code with which an output ends, where the line itself prints it last."""
    found = _CODE.search(text.rstrip()[-80:])
    return int(found[1]) if found else None


def setup_error(output: str) -> str:
    """Return the line that tells what is wrong with the set-up or the call, or ""."""
    lines = (line.strip() for line in output.split("\n", _MOST_LINES)[:_MOST_LINES])
    return next((ln[:CAUSE_CHARS] for ln in lines if _SETUP_ERROR.search(ln) and not _WARNING.match(ln)), "")


def cause_of(output: str) -> str:
    """Return the decisive line of the output of what failed, or ""."""
    text = printed(output)
    if "Traceback (most recent call last)" in text and (raised := _RAISED.findall(text)):
        return raised[-1].strip()[:CAUSE_CHARS]
    asserted = _ASSERTED.search(text)
    line = asserted[0] if asserted else setup_error(text) or _error_in(text)
    if not line:
        named = _NAMED.search(text)
        line = named[0] if named else ""
    return line.strip()[:CAUSE_CHARS]


def _error_in(text: str) -> str:
    return next((line for line in text.split("\n", _MOST_LINES)[:_MOST_LINES] if _ERROR.search(line)), "")
