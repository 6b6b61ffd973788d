"""The terminal: command lines as they are declared, and what the commands print, for people and for programs.

``slowwave sessions`` has over twenty actions with a hundred options; to declare them takes longer than to read the end
of a session. All are declared where the first word is none of them: for ``--help``, and to tell what there is.
"""

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from slowwave.errors import DONE, USAGE, RefusedError, meant, one_of

if TYPE_CHECKING:
    from slowwave.settings import Settings

_USUAL_WIDTH, _USUAL_HEIGHT = 80, 24
# what argparse says, and how we say it; what none of these fits is shown as it is
_PLAIN = (
    (r"argument ([^:]+): expected (?:one|at least one) argument", r"\1 needs a value"),
    (r"argument ([^:]+): not allowed with argument (.+)", r"\1 and \2 do not go together"),
    (r"argument ([^:]+): ignored explicit argument .*", r"\1 takes no value"),
    (r"the following arguments are required: (.+)", r"\1 is missing"),
    (r"argument ([^:]+): (.+)", r"\1: \2"),
)


class _Page(argparse.HelpFormatter):
    """A page of help: commands stand under their heading without a line that only says COMMAND."""

    is_laid_out: bool = False

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if self.is_laid_out else super()._fill_text(text, width, indent)

    def _format_action(self, action: argparse.Action) -> str:
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
            return "".join(self._format_action(one) for one in action._get_subactions())  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        return super()._format_action(action)


class Parser(argparse.ArgumentParser):
    """A parser whose formatter looks up the terminal's width without ``shutil`` and its compressors.

    Attributes:
        is_laid_out: its description and its epilog have their own lines, which are not filled anew.
        needs_word: without any word there is nothing to do, so that it shows its help.
        behind: the words behind the command that it stands for, as far as they tell which of its actions is meant.
        below: the parsers of its actions, by name.
    """

    behind: Sequence[str] = ()
    is_laid_out: bool = False
    needs_word: bool = False
    _of: str = ""

    def __init__(self, **how: Any) -> None:
        """Take only whole names of options: ``--ap`` for ``--apply`` would delete for who meant another option."""
        super().__init__(add_help=False, **how)
        self.allow_abbrev = False
        self.add_argument("-h", "--help", action="help", help="show this page")
        self.set_defaults(parser=self)
        self.below: Mapping[str, Parser] = {}

    @property
    def options(self) -> list[argparse.Action]:
        """What is given by a name."""
        return [action for action in self._actions if action.option_strings]

    @property
    def arguments(self) -> list[argparse.Action]:
        """What is given by its place."""
        return [action for action in self._actions if not action.option_strings]

    def option(self, name: str) -> argparse.Action | None:
        """Return the option of a name."""
        return self._option_string_actions.get(name)

    def add_actions(self, *, dest: str = "action") -> Any:
        """Return what takes the parsers of its actions, of which one has to be named."""
        self.needs_word = True
        self._of = dest
        added = self.add_subparsers(title=f"{dest}s", dest=dest, required=True, metavar=dest.upper())
        self.below = added.choices
        self._action_groups.insert(0, self._action_groups.pop())  # what one looks for stands above the options
        return added

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Parse; a group without words shows its help, and an option that is not there is told before all else.

        To argparse the value of an unknown option is a word by itself, and it would complain about that one instead.
        """
        words = list(sys.argv[1:] if args is None else args)
        if self.needs_word and not words:
            self.print_help(sys.stderr)
            self.exit(USAGE)
        for word in words:
            if word == "--" or (self._of and not word.startswith("-")):
                break  # what follows are words, or options of an action
            if re.match(r"--?[A-Za-z]\S*$", word) and not self._knows(word):
                self.refuse_option(word)
        return super().parse_known_args(words, namespace)

    def _knows(self, word: str) -> bool:
        known = self._option_string_actions
        return word.partition("=")[0] in known or (not word.startswith("--") and word[:2] in known)

    def refuse_option(self, word: str) -> None:
        """Say that there is no such option, and which one may be meant."""
        name = word.partition("=")[0]
        if not self._of:
            self.error(f"there is no option {name}{meant(name, self._option_string_actions)}")
        self.error(f"{name} stands too early: options are written behind the {self._of}")

    def error(self, message: str) -> Any:
        """Say in one line what is wrong and where help is, and end with code 2."""
        for form, plain in _PLAIN:
            if re.fullmatch(form, message, re.DOTALL):
                message = re.sub(form, plain, message, count=1, flags=re.DOTALL)
                break
        shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in message)
        self.exit(USAGE, f"{self.prog}: {shown} ({self.prog} --help tells more)\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices if str(choice)]
        if action.option_strings:
            text = f"{action.option_strings[-1]} cannot be {value!r}: write {one_of(choices)}"
        else:
            kind = action.dest if str(action.metavar or "").lower() == action.dest else "word"
            near = meant(str(value), choices)
            text = f"there is no {kind} {value!r}{near or ': write ' + one_of(choices)}"
        raise argparse.ArgumentError(None, text)

    def _get_formatter(self) -> argparse.HelpFormatter:
        # two characters less than the terminal has, as argparse itself does
        page = _Page(self.prog, width=columns() - 2)
        page.is_laid_out = self.is_laid_out
        return page

    def filled(self, text: str) -> str:
        """Return text in lines as wide as the terminal."""
        import textwrap  # noqa: PLC0415 - only a page of help waits for it

        return textwrap.fill(text, max(columns() - 2, 20))

    def columns(self, rows: Iterable[tuple[str, str]], left: int = 34) -> str:
        """Return rows of two columns, the second filled to the width of the terminal."""
        import textwrap  # noqa: PLC0415 - only a page of help waits for it

        width = max(columns() - 2 - left, 20)
        lines: list[str] = []
        for name, text in rows:
            first, *others = textwrap.wrap(text, width) or [""]
            lines += [f"  {name}"] if len(name) > left - 4 else []
            lines.append(f"  {'' if len(name) > left - 4 else name:<{left - 2}}{first}".rstrip())
            lines += [f"{'':<{left}}{other}" for other in others]
        return "\n".join(lines)


class Undeclared(argparse.ArgumentParser):
    """Takes the options of an action that nobody asked for, and keeps none."""

    def __init__(self) -> None:
        """Make nothing ready."""

    def add_argument(self, *_names: Any, **_how: Any) -> Any:
        """Do nothing."""


def declared(names: Iterable[str], words: Sequence[str]) -> list[str]:
    """Return the one of ``names`` that the first word is, else all of them."""
    return [words[0]] if words and words[0] in names else list(names)


def columns() -> int:
    """Return the width of the terminal."""
    return size_of("COLUMNS")


def size_of(what: Literal["COLUMNS", "LINES"]) -> int:
    """Return the width or the height of the terminal, by the rules of ``shutil.get_terminal_size``."""
    given = os.environ.get(what, "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    try:
        size = os.get_terminal_size(sys.__stdout__.fileno()) if sys.__stdout__ else None
    except (OSError, ValueError):
        size = None
    if what == "COLUMNS":
        return (size.columns if size else 0) or _USUAL_WIDTH
    return (size.lines if size else 0) or _USUAL_HEIGHT


# where options can be declared, and what returns such a place for options of some jobs
Place = argparse.ArgumentParser | argparse._ArgumentGroup  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
Options = Callable[..., Place]


def add_settings_options(parser: Place) -> None:
    """Add ``--store``, ``--config`` and ``--set``."""
    parser.add_argument(
        "--store",
        type=Path,
        action="append",
        metavar="DIR",
        help="only the transcripts in this folder, for example ~/.claude or /mnt/backup/home/ann: a client's home, a "
        "person's home, or a folder of transcripts (repeatable)",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings file (TOML)")
    parser.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE", help="override one setting"
    )


def carried(args: argparse.Namespace, *, with_memory: bool = False) -> str:
    """Return the options that lead a further command to the same stores and memories, each after a blank.

    ``with_memory`` is for commands that take ``--memory``: ``memory`` and ``review``.
    """
    from slowwave.context import given_again  # noqa: PLC0415 - --help stays fast

    sample = getattr(args, "sample", None)
    folder = getattr(args, "memory", None) if with_memory else None
    return given_again([sample] if sample else args.store or (), args.config, args.overrides, folder)


def add_project_option(parser: Place) -> None:
    """Add ``--project``."""
    parser.add_argument(
        "--project",
        default="",
        metavar="TEXT",
        help="only the project of this name, else those whose key or folder contains it",
    )


def add_json_option(parser: Place) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def positive(text: str) -> int:
    """Return a number of things that somebody wants at most."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return number


def settings_of(args: argparse.Namespace) -> "Settings":
    """Return the settings that the options, the environment and the settings file add up to."""
    from slowwave.settings import load_settings  # noqa: PLC0415  # what names a file needs no settings

    settings = load_settings(os.environ, config=args.config, overrides=args.overrides)
    return settings.with_roots(args.store) if args.store else settings


_MOST_PROBLEMS = 5


def say(text: str) -> None:
    """Print one line; names that are not UTF-8 are shown with escapes."""
    print(_printable(text))  # noqa: T201 - the command's own output


def say_json(values: Iterable[Any]) -> None:
    """Print one JSON object a line; names that are not UTF-8 stand in it as escapes that JSON readers give back."""
    import msgspec  # noqa: PLC0415 - --help prints no JSON

    lines: list[bytes] = []
    for value in values:
        try:
            lines.append(msgspec.json.encode(value))
        except (msgspec.MsgspecError, UnicodeEncodeError):
            import json  # noqa: PLC0415  # such names are rare

            lines.append(json.dumps(msgspec.to_builtins(value)).encode())
    if sys.stdout:
        sys.stdout.flush()
        out = sys.stdout.buffer  # as text, a session that is most of what there is room for would be copied twice
        for line in lines:
            out.write(line)
            out.write(b"\n")
        out.flush()


def answer(args: argparse.Namespace, fields: Mapping[str, Any], text: str) -> int:
    """Print one thing, as text or where JSON is asked for as an object, and return the exit code of what is done."""
    if args.json:
        say_json([dict(fields)])
    else:
        say(text)
    return DONE


def warn(text: str) -> None:
    """Print one line to standard error; what in a name would break the line or reach the terminal is escaped."""
    print(f"slowwave: {_one_line(text)}", file=sys.stderr)  # noqa: T201 - the command's own output


def progress(text: str) -> None:
    """Print one line to standard error, at once: what is being done now."""
    print(_one_line(text), file=sys.stderr, flush=True)  # noqa: T201 - the command's own output


def tell_damage(problems: Sequence[object]) -> None:
    """Print what was damaged in a session to standard error, the first few places one by one."""
    for problem in problems[:_MOST_PROBLEMS]:
        warn(str(problem))
    if len(problems) > _MOST_PROBLEMS:
        warn(f"and {len(problems) - _MOST_PROBLEMS} more problems")


def bold(text: str) -> str:
    """Return a heading."""
    return _drawn("1", text)


def dim(text: str) -> str:
    """Return what is only looked at by whoever needs it: ids, places, reasons."""
    return _drawn("2", text)


def good(text: str) -> str:
    """Return what is well."""
    return _drawn("32", text)


def open_to(text: str) -> str:
    """Return what waits for somebody."""
    return _drawn("33", text)


def bad(text: str) -> str:
    """Return what went wrong."""
    return _drawn("31", text)


def _drawn(code: str, text: str) -> str:
    """Return text in a colour or a weight where a person reads it on a terminal, and as it is anywhere else."""
    is_seen = sys.stdout and sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return f"\x1b[{code}m{text}\x1b[0m" if text and is_seen else text


def screen_width() -> int:
    """Return how wide what is printed may be: the terminal, or 0 for no limit where a program or a file reads it."""
    if not (sys.stdout and sys.stdout.isatty()):
        return 0

    return max(columns(), 40)


def screen_height() -> int:
    """Return how many lines a person sees at once, or 0 for no limit where a program or a file reads it."""
    if not (sys.stdout and sys.stdout.isatty()):
        return 0

    return max(size_of("LINES"), 10)


def wrapped(
    text: str, *, first: str = "", rest: str = "", width: int = 0, draw: Callable[[str], str] = str
) -> list[str]:
    """Return foreign text as lines no wider than ``width``, which never breaks a word; 0 sets no limit.

    ``first`` stands before its first line, drawn by ``draw``, and ``rest`` before every further one.
    """
    flat = " ".join(harmless(text).split())
    if not width:
        return [draw(first) + flat]
    from textwrap import TextWrapper  # noqa: PLC0415 - only where something is wrapped

    wrapper = TextWrapper(max(width, len(rest) + 20), initial_indent=first, subsequent_indent=rest)
    wrapper.break_long_words = wrapper.break_on_hyphens = False
    lines = wrapper.wrap(flat) or [first]
    return [draw(first) + lines[0][len(first) :], *lines[1:]]


def shortened(text: str, width: int) -> str:
    """Return foreign text on one line; of more than ``width`` characters the beginning, with 0 always all of it."""
    flat = " ".join(harmless(text).split())
    return flat if not width or len(flat) <= width else flat[: max(width, 20) - 3].rstrip() + "..."


def harmless(text: str) -> str:
    """Return foreign text without what a terminal would obey; line ends and tabs stay."""
    return text if text.isprintable() else "".join(c if c.isprintable() or c in "\n\t" else " " for c in text)


def is_attended() -> bool:
    """Say whether a person sits at a terminal, who can be asked."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stdout and sys.stdout.isatty())


def require_yes(question: str, otherwise: str) -> None:
    """Ask a person at a terminal whether to go on.

    Raises:
        RefusedError: they do not say yes; its message is ``otherwise``.
    """
    try:
        answered = input(f"{question} [y/N] ")
    except EOFError:
        answered = ""
    if answered.strip().lower() not in ("y", "yes"):
        raise RefusedError(otherwise)


def short_time(at: str) -> str:
    """Return an ISO time to the minute."""
    return at[:16].replace("T", " ")


def _one_line(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _printable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text
