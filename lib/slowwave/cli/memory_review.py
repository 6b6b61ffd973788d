"""``slowwave memory review``: what waits for a person, and a person's word on it."""

import argparse
import os
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from slowwave.cli.memory_folders import MemoryFolder, bring, the_one
from slowwave.cli.options import settings_of
from slowwave.cli.output import harmless, say, say_json
from slowwave.clock import SystemClock
from slowwave.consolidation.inbox import Waiting, accept_fact, inbox, reject_fact
from slowwave.consolidation.plan import Plan
from slowwave.consolidation.review import Parked, accept, parked_dreams, reject
from slowwave.errors import DONE, PARKED, NotFoundError, RefusedError, UsageError
from slowwave.memory.model import Evidence
from slowwave.places import agent_around
from slowwave.secrets.key import redactor_of

# as dreams are named; candidates are hex digits alone
_DREAM = re.compile(r"d\d{8}T")


def ask_remember(args: argparse.Namespace) -> int:
    """Tell an agent what becomes of words that it asks to be remembered; nothing is written."""
    return _tell_agent(args, "remembers")


def ask_forget(args: argparse.Namespace) -> int:
    """Tell an agent what becomes of what it asks to be forgotten; nothing is written."""
    return _tell_agent(args, "forgets")


def _tell_agent(args: argparse.Namespace, does: str) -> int:
    """Say that the next night finds the request in the transcript: this call stands there, and is all that is needed.

    Raises:
        UsageError: no agent runs this, so that no transcript will show it.
    """
    words = redactor_of(settings_of(args), os.environ, create=False)(" ".join(args.words))
    if not agent_around(os.environ):
        raise UsageError(
            f"memory {args.action} counts inside of an agent's session, where the next night reads it; a line that you"
            " write into MEMORY.md yourself is yours"
        )
    told = (
        f"The next night {does} this if the person typed it in this session; else it waits until they accept it"
        " (slowwave memory review)."
    )
    return _told(args, {"asked": args.action, "words": words}, told)


def show_review(args: argparse.Namespace) -> int:
    """List what waits (code 5 when anything does), show one of it, or accept, reject or reword it."""
    what, name = _asked(args)
    if what == "list":
        return _list(args)
    if what != "show" and (agent := agent_around(os.environ)):
        raise RefusedError(f"memory review {what}: a person decides, and {agent} runs this; use a terminal of your own")
    if what == "edit" and not " ".join(args.text).strip():
        raise UsageError("memory review edit ID TEXT: write what it shall say")
    dream = next(((f, p) for f in args.folders for p in parked_dreams(f.path) if p.id == name), None)
    if dream:
        return _on_dream(args, what, *dream)
    if _DREAM.match(name):
        the_one(args.folders, f"parked dream {name}", lambda _: None)
    return _on_fact(args, what, *_fact(args, name))


def _asked(args: argparse.Namespace) -> tuple[str, str]:
    """Return what to do with which thing; ``--accept`` and ``--reject`` are the older way to say it."""
    if args.accept or args.reject:
        return ("accept", args.accept) if args.accept else ("reject", args.reject)
    if args.what != "list" and not args.id:
        raise UsageError(f"memory review {args.what}: name what is meant; slowwave memory review lists it")
    return args.what, args.id or ""


def _list(args: argparse.Namespace) -> int:
    number = 0
    for folder in args.folders:
        dreams, facts = parked_dreams(folder.path), _inbox(args, folder)
        number += len(dreams) + len(facts)
        if args.json:
            say_json({**msgspec.to_builtins(parked), "kind": "dream", "project": folder.project} for parked in dreams)
            say_json(_row(folder, waiting) for waiting in facts)
            continue
        for parked in dreams:
            _show_dream(folder, parked)
        for waiting in facts:
            say(_line(folder, waiting))
    if not number and not args.json:
        say("No dream waits for review, and no fact.")
    elif not args.json:
        say("slowwave memory review show|accept|reject ID, or edit ID TEXT")
    return PARKED if number else DONE


def _inbox(args: argparse.Namespace, folder: MemoryFolder) -> list[Waiting]:
    settings = settings_of(args).consolidation
    return inbox(folder.path, folder.transcripts, settings, SystemClock().now(), is_global=folder.is_global)


def _fact(args: argparse.Namespace, name: str) -> tuple[MemoryFolder, Waiting]:
    """Return the fact of an id or of its beginning.

    Raises:
        NotFoundError: there is none, or several.
    """
    every = [(folder, waiting) for folder in args.folders for waiting in _inbox(args, folder)]
    found = [(f, w) for f, w in every if name and any(one.startswith(name) for one in w.names)]
    if len(found) != 1:
        raise NotFoundError(f"{len(found) or 'no'} facts {name!r} wait for review; slowwave memory review lists them")
    return found[0]


def _on_dream(args: argparse.Namespace, what: str, folder: MemoryFolder, parked: Parked) -> int:
    if what == "accept":
        plan = accept(folder.path, parked.id, settings_of(args).consolidation, SystemClock().now())
        bring(folder, settings_of(args))
        return _told(args, {"accepted": parked.id, "dream": plan.id}, f"Applied as dream {plan.id}.")
    if what == "reject":
        refused = reject(folder.path, parked.id, SystemClock().now())
        text = f"Rejected: {len(refused)} candidates are not taken again."
        return _told(args, {"rejected": parked.id, "candidates": list(refused)}, text)
    if what == "edit":
        raise UsageError(f"{parked.id} is a dream: it is accepted or rejected as a whole")
    if args.json:
        say_json([{**msgspec.to_builtins(parked), "kind": "dream", "project": folder.project}])
    else:
        _show_dream(folder, parked)
    return DONE


def _on_fact(args: argparse.Namespace, what: str, folder: MemoryFolder, waiting: Waiting) -> int:
    now = SystemClock().now()
    if what in ("accept", "edit"):
        words = redactor_of(settings_of(args), os.environ)(" ".join(args.text)) if what == "edit" else ""
        plan = accept_fact(folder.path, waiting, settings_of(args).consolidation, now, words)
        bring(folder, settings_of(args))
        return _told(args, {"accepted": waiting.id, "dream": plan.id}, _done(waiting, plan))
    if what == "reject":
        refused = reject_fact(folder.path, waiting, now)
        text = f"Rejected: {len(refused)} candidates are not taken again, in no other words either."
        return _told(args, {"rejected": waiting.id, "candidates": list(refused)}, text)
    if args.json:
        say_json([_row(folder, waiting)])
    else:
        for line in _details(folder, waiting):
            say(line)
    return DONE


def _done(waiting: Waiting, plan: Plan) -> str:
    return f"{'Ended' if waiting.fact.memory else 'Remembered'} by dream {plan.id}."


def _row(folder: MemoryFolder, waiting: Waiting) -> dict[str, Any]:
    lead = waiting.fact.lead
    return {
        "kind": "fact",
        "id": waiting.id,
        "category": lead.category,
        "text": lead.text,
        "confidence": waiting.fact.confidence,
        "reason": waiting.reason,
        "candidates": [c.id for c in waiting.candidates],
        "sessions": [msgspec.to_builtins(c.session) for c in waiting.candidates],
        "evidence": [msgspec.to_builtins(e) for e in waiting.fact.evidence],
        "against": msgspec.to_builtins(waiting.against) if waiting.against else None,
        "project": folder.project,
    }


def _line(folder: MemoryFolder, waiting: Waiting) -> str:
    lead = waiting.fact.lead
    return (
        f"{waiting.id}  {waiting.fact.confidence:>4.0%}  {lead.category:<10}  {harmless(lead.text)}  [{folder.project}]"
    )


def _details(folder: MemoryFolder, waiting: Waiting) -> Iterator[str]:
    yield _line(folder, waiting)
    yield f"  {waiting.reason}"
    if waiting.against:
        yield f"  a person wrote in {folder.path / waiting.against.file}:"
        yield f'    "{harmless(waiting.against.text)}"'
    if waiting.fact.memory:
        for seen in waiting.fact.sightings:
            yield f"  an agent wrote it  {seen.observed_at}  {seen.dialect} {seen.session}".rstrip()
        yield from dict.fromkeys(f"    record of {e.length} bytes  {e.path}" for e in waiting.fact.evidence)
    for candidate in waiting.candidates:
        yield f"  {candidate.observed_at}  {candidate.session.dialect} {candidate.session.id}  {candidate.origin}"
        yield from dict.fromkeys(map(_told_of, candidate.evidence))


def _told_of(piece: Evidence) -> str:
    return f'    "{harmless(piece.quote)}"  {piece.path}'


def _show_dream(folder: MemoryFolder, parked: Parked) -> None:
    say(f"{parked.id}  {folder.project}: {parked.reason}")
    for operation in parked.operations:
        if operation.action not in {"KEEP", "WAIT"}:
            what = operation.memory or ", ".join(operation.candidates)
            say(f"  {operation.action:<9} {what}  {operation.reason}")
    say(f"  slowwave memory review --accept {parked.id} | --reject {parked.id}")


def _told(args: argparse.Namespace, data: dict[str, object], text: str) -> int:
    if args.json:
        say_json([data])
    else:
        say(text)
    return DONE
