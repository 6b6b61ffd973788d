"""``slowwave review``: what waits for you, one thing at a time with its evidence around it, or as a list for a pipe."""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from slowwave.cli.memory_facts import chosen
from slowwave.cli.screen import ask_lines
from slowwave.cli.terminal import (
    add_json_option,
    add_project_option,
    add_settings_options,
    answer,
    bold,
    carried,
    dim,
    harmless,
    is_attended,
    require_yes,
    say,
    say_json,
    screen_width,
    settings_of,
    shortened,
    warn,
    wrapped,
)
from slowwave.consolidation.inbox import Parked
from slowwave.context import SystemClock
from slowwave.errors import DONE, PARKED, NotFoundError, RefusedError, SlowwaveError, UsageError
from slowwave.files import agent_around
from slowwave.jobs.review import Decision, Desk, Meant, TakenBack, Waits
from slowwave.locks import beside_jobs
from slowwave.memory.ledger import speaker
from slowwave.observability.lessons import FACTS
from slowwave.quantities import counted
from slowwave.report import in_wait
from slowwave.stores.projects import short_names

_WORDS = ("list", "show", "accept", "reject", "edit", "undo")
_KEYS = {"a": "accept", "e": "edit", "r": "reject", "m": "message", "l": "later", "u": "undo", "q": "quit"}
_TOLD = (
    "accept: remember it; edit: in your words; reject: never; message: reject all that came from the same message; "
    "later: ask again next time; undo: the last answer"
)
_MOST_STEPS = 20
_HOW = (
    "slowwave review show|accept|reject ID{0}, or edit ID TEXT{0}; reject ID --message rejects all of its message; "
    "each decision says how it is undone"
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``slowwave review``."""
    add_words(parser)
    add_settings_options(parser)
    add_project_option(parser)
    parser.add_argument("--url", action="store_true", help="print the address of the page that slowwave serve shows")
    parser.add_argument("--memory", type=Path, metavar="DIR", help="this memory folder, instead of a store's")
    add_json_option(parser)


def add_words(parser: argparse.ArgumentParser) -> None:
    """Declare what can be done: the same for ``slowwave review`` and ``slowwave memory review``."""
    parser.add_argument(
        "what", nargs="?", default="", choices=("", *_WORDS), metavar="|".join(_WORDS),
        help="what to do; at a terminal, without it: go through everything one by one",
    )  # fmt: skip
    parser.add_argument("id", nargs="?", metavar="ID", help="id of what waits, or its beginning; undo: of a decision")
    parser.add_argument("text", nargs="*", metavar="TEXT", help="edit: what it should say instead")
    parser.set_defaults(list_of_words="text")
    parser.add_argument("--all", action="store_true", help="also what only waits for more sessions")
    parser.add_argument(
        "--message", action="store_true", help="reject: also all else that waits and came from the same message"
    )
    parser.add_argument("--yes", action="store_true", help="undo, and reject --message: do not ask whether more may go")
    parser.add_argument("--force", action="store_true", help="undo: also files changed since; your version is kept")
    decision = parser.add_mutually_exclusive_group()
    decision.add_argument("--accept", metavar="DREAM", help="the same as accept DREAM")
    decision.add_argument("--reject", metavar="DREAM", help="the same as reject DREAM")


def run(args: argparse.Namespace) -> int:
    """Do what was asked and return the exit code."""
    if args.url:
        return _address()
    # who sits and reads holds nobody up: each of their decisions is taken beside jobs
    with beside_jobs(os.environ) if decides(args) else nullcontext():
        args.folders = chosen(args)
        return review(args)


def _address() -> int:
    from slowwave.service.page_server import served_place  # noqa: PLC0415 - only this answer needs it

    if agent := agent_around(os.environ):
        raise RefusedError(f"whoever has that address can decide, and {agent} runs this; use a terminal of your own")
    place = served_place(os.environ)
    if place is None:
        raise NotFoundError("no page is served: start slowwave serve, or decide here with slowwave review")
    say(place.address)
    return DONE


def decides(args: argparse.Namespace) -> bool:
    """Say whether one decision is asked for, which waits for the end of an erasure before it looks for anything."""
    if _asks_first(args):
        return False
    return bool(args.accept or args.reject) or args.what in ("accept", "reject", "edit", "undo")


def _asks_first(args: argparse.Namespace) -> bool:
    """Say whether a person is told how much it is about before it is done: of a whole message they may see a part."""
    is_wide = args.what == "undo" or ((args.what == "reject" or args.reject) and args.message)
    return is_wide and not args.yes and not args.json and is_attended()


def require_alone(args: argparse.Namespace, name: str, meant: Meant) -> None:
    """Tell what else goes when something is taken back, if anything does, and ask whether it shall.

    Raises:
        RefusedError: the person does not say yes, or nobody is there to be asked and nobody said so before.
    """
    if not meant.beyond or args.yes:
        return
    if not args.json:
        say(f"More than {name} would be taken back, what rests on it or was decided with it:")
        for line in (*lines_of(meant.beyond), *filter(None, [meant.instead])):
            say(line)
    if args.json or not is_attended():
        raise RefusedError(f"{meant.refusal(name)}; --yes takes all of it back")
    require_yes("Take all of that back?", "nothing was taken back")


def lines_of(what: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield things by id and words, each on a line, or as many as its words need."""
    for one, told in what:
        yield from wrapped(told, first=f"  {one}{'  ' if one else ''}", rest="    ", width=screen_width())


def told_back(
    undone: Sequence[TakenBack], name: str, args: argparse.Namespace, *, again: bool = False
) -> Iterator[str]:
    """Yield what was taken back, or stands again: each thing by its id, what became of the files, and the way back."""
    texts = [one.text.splitlines() for one in undone]
    for one, (first, *_) in zip(undone, texts, strict=True):
        yield first
        yield from lines_of(one.what)
    # what is so of all of them is said once
    yield from dict.fromkeys(line for _, *more in texts for line in more)
    anew = {one.anew for one in undone}
    how, flag = ("take it back", "") if again else (anew.pop() if len(anew) == 1 else "have it again", " --again")
    yield f"To {how}: slowwave memory undo {name}{flag}{carried(args, with_memory=True)}"


def review(args: argparse.Namespace) -> int:
    """Go through what waits, list it (code 5 when anything waits), show one thing, decide, or take a decision back."""
    what, name = _asked(args)
    if what not in ("list", "show") and (agent := agent_around(os.environ)):
        raise RefusedError(
            f"slowwave review {what}: a person decides, and {agent} runs this; use a terminal of your own"
        )
    desk = Desk(args.folders, settings_of(args), os.environ, SystemClock())
    if what == "list":
        return _list(args, desk)
    if what == "sit":
        return Sitting(desk, _key, _line, carried(args, with_memory=True)).go(desk.waiting(every=args.all))
    if what == "undo":
        meant = desk.meant(name)
        require_alone(args, name, meant)
        undone = desk.take_back(meant.names[0], force=args.force)
        told = "\n".join(told_back([undone], name, args))
        return _told(args, msgspec.to_builtins(undone), told, undone.warnings)
    waits = desk.find(name)
    if what == "show":
        return _show(args, desk, waits)
    if what == "reject" and args.message and not args.yes:
        _require_whole(args, desk, waits)
    done = desk.decide(waits, what, " ".join(args.text), of_message=args.message)  # pyright: ignore[reportArgumentType] - argparse has checked it
    # a rejection has an id as a dream has
    known: dict[str, object] = {"rejected" if what == "reject" else "accepted": done.asked, "dream": done.id}
    known |= {"candidates": list(done.candidates)} if what == "reject" else {}
    known["text"] = done.words
    words = shortened(done.words, max(screen_width() - 2, 0))
    back = f"slowwave review undo {done.id}{carried(args, with_memory=True)} takes it back."
    return _told(args, known, f"{done.text}\n  {words}\n{back}", done.warnings)


def _require_whole(args: argparse.Namespace, desk: Desk, waits: Waits) -> None:
    """Tell how much a whole message is, of which a person may have seen a part, and ask whether all of it may go.

    Raises:
        RefusedError: the person does not say yes, or nobody is there to be asked and nobody said so before.
    """
    number = len(desk.of_message(waits))
    if number > 1 and (args.json or not is_attended()):
        raise RefusedError(f"{number} came from that message: nothing was rejected; --yes rejects all {number}")
    for line in _of_message(desk, waits, number, "this"):
        say(line)
    if number > 1:
        require_yes(f"Reject all {number}?", "nothing was rejected")


def _show(args: argparse.Namespace, desk: Desk, waits: Waits) -> int:
    if args.json:
        say_json([_row(waits)])
        return DONE
    for line in _one(desk, waits, screen_width(), short_names([waits.ask.project])[waits.ask.project]):
        say(line)
    reject = f"slowwave review reject {waits.ask.id} --message{carried(args, with_memory=True)}"
    for line in _of_message(desk, waits, len(desk.of_message(waits)), reject):
        say(line)
    return DONE


def _asked(args: argparse.Namespace) -> tuple[str, str]:
    """Return what to do with which thing; ``--accept`` and ``--reject`` are the older way to say it."""
    if args.accept or args.reject:
        return ("accept", args.accept) if args.accept else ("reject", args.reject)
    if not args.what:
        return ("sit" if is_attended() and not args.json else "list"), ""
    if args.what != "list" and not args.id:
        raise UsageError(f"slowwave review {args.what}: name what is meant; slowwave review list shows what waits")
    return args.what, args.id or ""


def _list(args: argparse.Namespace, desk: Desk) -> int:
    """Print what waits, and how much waits for more sessions; code 5 where a dream waits, as after its run."""
    waiting = desk.waiting()
    asked = [waits for waits in waiting if desk.is_shown(waits)]
    code = PARKED if any(isinstance(waits.about, Parked) for waits in waiting) else DONE
    if args.json:
        say_json(_row(waits) for waits in (waiting if args.all else asked))
        return code
    shown = [waits for waits in waiting if args.all or waits.ask.is_worth_it]
    names = short_names(waits.ask.project for waits in waiting)
    opening = {waits.ask.id: partial(desk.first_words, waits) for waits in shown}
    if not any(waits.ask.is_worth_it for waits in waiting):
        say("Nothing waits for you." + (" What waits for more sessions:" if shown else ""))
    for line in ask_lines(
        [waits.ask for waits in shown],
        names,
        screen_width(),
        is_named=True,
        opening=lambda ask: opening[ask.id](),
        in_all=Counter(waits.ask.message for waits in waiting),
    ):
        say(line)
    if shown:
        for line in wrapped(_HOW.format(carried(args, with_memory=True)), rest="  ", width=screen_width()):
            say(line)
    facts = [waits.ask for waits in waiting if waits.ask.kind in FACTS]
    if others := sum(not ask.is_worth_it for ask in facts):
        them = "it" if others == 1 else "them"
        rest = "" if args.all else f"; slowwave review list --all{carried(args, with_memory=True)} shows {them}, too"
        for line in wrapped(in_wait(len(facts), len(facts) - others) + rest, rest="  ", width=screen_width()):
            say(line)
    return code


def _row(waits: Waits) -> dict[str, Any]:
    common = {"is_worth_it": waits.ask.is_worth_it, "project": waits.ask.project}
    if isinstance(waits.about, Parked):
        return {**msgspec.to_builtins(waits.about), "kind": "dream", **common}
    fact, lead = waits.about.fact, waits.about.fact.lead
    return {
        "kind": "fact",
        "id": waits.about.id,
        "category": lead.category,
        "text": lead.text,
        "confidence": fact.confidence,
        "reason": waits.about.reason,
        "why": waits.ask.why,
        "candidates": [c.id for c in fact.candidates],
        "sessions": [msgspec.to_builtins(c.session) for c in fact.candidates],
        "evidence": [msgspec.to_builtins(e) for e in fact.evidence],
        "against": msgspec.to_builtins(waits.about.against) if waits.about.against else None,
        **common,
    }


def _told(args: argparse.Namespace, data: dict[str, object], text: str, warnings: tuple[str, ...]) -> int:
    for warning in warnings:
        warn(warning)
    return answer(args, data, text)


def _one(desk: Desk, waits: Waits, width: int, name: str) -> Iterator[str]:
    """Yield one thing with all that a person needs to decide about it."""
    ask = waits.ask
    about = " · ".join(filter(None, (name, ask.category)))
    yield f"{about}  {dim(ask.id)}"
    yield from map(bold, wrapped(ask.text, first="  ", rest="  ", width=width))
    why = "why you are asked" if ask.is_worth_it else "why it waits"
    yield from wrapped(f"{why}: {ask.why}", first="  ", rest="    ", width=width)
    if isinstance(waits.about, Parked):
        steps = [o for o in waits.about.operations if o.action not in {"KEEP", "WAIT"}]
        for step in steps[: _MOST_STEPS if width else None]:
            what = step.memory or ", ".join(step.candidates)
            yield from wrapped(f"{step.action:<9} {what}  {step.reason}", first="    ", rest=" " * 14, width=width)
        if width and len(steps) > _MOST_STEPS:
            yield f"    and {len(steps) - _MOST_STEPS} more (--json shows all)"
        return
    if waits.about.against:
        yield from wrapped(
            f"a person wrote in {waits.folder.path / waits.about.against.file}:", first="  ", width=width
        )
        yield from wrapped(f'"{desk.redact(waits.about.against.text)}"', first="    ", rest="    ", width=width)
    for seen in waits.about.fact.sightings:
        who = speaker(seen, waits.about.fact.candidates)
        yield f"  {seen.observed_at}  {seen.dialect} {harmless(seen.session)}  {who}"
    for source in desk.sources(waits):
        if source.before:
            before = f"before that the agent said: {source.before}"
            yield from wrapped(before, first="    ", rest="      ", width=width)
        yield from wrapped(source.around or source.quote, first="    | ", rest="    | ", width=width)
        gone = "" if source.finding in ("ok", "moved") else f" ({source.finding})"
        yield dim(f"      {harmless(source.path)}{gone}")


def _of_message(desk: Desk, waits: Waits, number: int, reject: str) -> Iterator[str]:
    """Yield how much came from the message of something, and that ``reject`` rejects all of it; nothing for one."""
    if number > 1:
        others = f"{counted(number - 1, 'more note')}, also such as wait for more sessions,"
        told = f"this and {others} came from one message; {reject} rejects all {number}. It begins: "
        yield from wrapped(told + desk.first_words(waits), first="  ", rest="    ", width=screen_width())


class Sitting:
    """A person who goes through what waits, one thing at a time."""

    def __init__(
        self, desk: Desk, key: Callable[[str], str], line: Callable[[str, str], str], options: str = ""
    ) -> None:
        """Begin; ``key`` asks for one key, ``line`` for a line that is there to be changed.

        ``options`` are what commands that are named need besides.
        """
        self._desk, self._key, self._line, self._options = desk, key, line, options
        self._done: list[tuple[int, Decision]] = []
        self._with: dict[str, list[str]] = {}  # what else a decision about a message was about, by its id

    def go(self, waiting: list[Waits]) -> int:
        """Ask about each, until all are decided or the person goes; code 5 when something is left."""
        names = short_names(waits.ask.project for waits in waiting)
        if not waiting:
            say("Nothing waits for you.")
        place = 0
        while place < len(waiting):
            waits = waiting[place]
            if any(waits.ask.id in those for those in self._with.values()):
                place += 1
                continue
            say("")
            say(f"{place + 1} of {len(waiting)}")
            for line in _one(self._desk, waits, screen_width(), names[waits.ask.project]):
                say(line)
            step = self._answered(waits, place)
            if step is None:
                break
            place = step
        return self._leave(len(waiting))

    def _answered(self, waits: Waits, place: int) -> int | None:
        """Ask until there is an answer; return the place of what is asked next, None for the end."""
        can = self._can(waits)
        prompt = "  " + "  ".join(f"[{word[0]}]{word[1:]}" for word in can) + " "
        while True:
            try:
                verb = _KEYS.get(self._key(prompt).lower(), "")
                if verb == "quit":
                    return None
                if not verb:
                    for line in wrapped(_TOLD, first="  ", rest="  ", width=screen_width()):
                        say(line)
                if verb == "later":
                    return place + 1
                if verb == "undo" and self._done:
                    before, last = self._done.pop()
                    self._with.pop(last.id, None)
                    say(f"  {self._desk.take_back(last.id).text}")
                    return before
                if verb in can and self._decided(waits, place, verb):
                    return place + 1
            except (EOFError, KeyboardInterrupt):
                return None
            except SlowwaveError as error:
                say(f"  {error}")
                return place + 1

    def _can(self, waits: Waits) -> list[str]:
        """Return what may be answered; of what came from one message with others, say with how many."""
        number = len(self._desk.of_message(waits))
        for line in _of_message(self._desk, waits, number, "[m]"):
            say(line)
        more = ["message"] if number > 1 else []
        return [*waits.verbs, *more, "later", *(["undo"] if self._done else []), "quit"]

    def _decided(self, waits: Waits, place: int, verb: str) -> bool:
        text = ""
        if verb == "edit":
            text = self._line("  new text: ", waits.ask.text).strip()
            if not text:
                return False
            if text.split() == waits.ask.text.split():
                say("  Nothing was changed, and nothing decided: [a] accepts it as it is.")
                return False
        # as it is now: an answer before this one may have changed it
        desk = Desk([waits.folder], self._desk.settings, self._desk.environ, self._desk.clock)
        now = desk.find(waits.ask.id)
        if verb == "message":
            those = [one.ask.id for one in desk.of_message(now)]
            done = desk.decide(now, "reject", of_message=True)
            self._with[done.id] = those
        else:
            done = desk.decide(now, verb, text)  # pyright: ignore[reportArgumentType] - one of its verbs
        self._done.append((place, done))
        say(f"  {done.text}")
        for warning in done.warnings:
            warn(warning)
        return True

    def _leave(self, number: int) -> int:
        left = number - sum(max(len(self._with.get(done.id, ())), 1) for _, done in self._done)
        if number:
            say("")
            say(f"{number - left} decided, {left} left." + (" Each can be taken back:" if self._done else ""))
        for _, done in self._done:
            say(f"  slowwave review undo {done.id}{self._options}  ({done.verb})")
        return PARKED if left else DONE


def _key(prompt: str) -> str:
    """Ask for one key, without a return behind it."""
    import termios  # noqa: PLC0415 - only at a terminal
    import tty  # noqa: PLC0415 - as above

    sys.stdout.write(prompt)
    sys.stdout.flush()
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    try:
        tty.setcbreak(fd)
        key = os.read(fd, 1).decode("ascii", "replace")
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
    sys.stdout.write(f"{harmless(key)}\n")
    if key in ("", "\x04"):
        raise EOFError
    return key


def _line(prompt: str, text: str) -> str:
    """Ask for a line that begins as ``text`` and can be changed."""
    import readline  # noqa: PLC0415 - only at a terminal

    readline.set_startup_hook(lambda: readline.insert_text(text))
    try:
        return input(prompt)
    finally:
        readline.set_startup_hook(None)
