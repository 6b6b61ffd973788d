"""Lines that agents wrote become entries of the ledger, so that a dream may tidy them as it does its own.

They stay where they stand until there is a reason to change them. A person's line never becomes an entry, nor does one
whose words a tool brought, nor one that a person took back from a dream.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping

import msgspec

from slowwave.extraction.keys import decision_key, key_of
from slowwave.memory.authors import Author, Authors
from slowwave.memory.book import Book
from slowwave.memory.extracted import FILE as EXTRACTED
from slowwave.memory.foreign import known_numbers
from slowwave.memory.ledger import VERSION, Event, Sighting, line_hash
from slowwave.memory.model import CATEGORIES, Category
from slowwave.memory.pages import Statement, front_of, statements
from slowwave.secrets.redactor import NAMELESS

# how sure an agent's note is that nobody confirmed
NOTED = 0.6
_QUOTED = 160
# what the kinds of pages of Claude Code's memory are here
_OF_KIND: dict[str, Category] = {"user": "preference", "feedback": "constraint", "reference": "pattern"}


def adoptions(files: Mapping[str, bytes], book: Book, authors: Authors) -> list[Event]:
    """Return an event for each line of an agent that is no entry yet; dream and time are left empty."""
    found: list[Event] = []
    for file, data in files.items():
        if file == EXTRACTED:
            continue
        known = known_numbers(file, data, book)
        numbers = Counter(known.values())
        kind = front_of(data).get("type", "")
        for one in statements(data):
            digest = line_hash(one.line)
            if one.number in known or (file, digest) in book.left:
                continue
            author = authors.of(file, one)
            # a secret in a page is not copied anywhere
            if author.writer == "agent" and NAMELESS(one.line) == one.line:
                found.append(_adopted(file, one, author, kind, digest, numbers[digest]))
                numbers[digest] += 1
    return found


def _adopted(file: str, one: Statement, author: Author, kind: str, digest: str, number: int) -> Event:
    category = _category(one, kind)
    key, value = decision_key(one.text) if category == "decision" else ("", "")
    if not key and not one.target:
        key, value = key_of(one.text)
    place = author.written
    sighting = Sighting(
        place.dialect if place else "",
        place.session if place else "",
        place.path if place else "",
        "assistant",
        one.confidence or NOTED,
        author.at,
    )
    return Event(
        v=VERSION,
        event="adopt",
        dream="",
        at="",
        memory="a" + hashlib.sha256(f"{file}\x1f{digest}\x1f{number}".encode()).hexdigest()[:11],
        category=category,
        text=one.text,
        key=key,
        value=value,
        confidence=one.confidence or NOTED,
        valid_from=author.at,
        sightings=(sighting,),
        evidence=(msgspec.structs.replace(place.evidence, quote=one.text[:_QUOTED]),) if place else (),
        file=file,
        line=one.line,
        sha256=digest,
        writer=author.writer,
        reason=author.why,
    )


def _category(one: Statement, kind: str) -> Category:
    for category in CATEGORIES:
        if category == one.label:
            return category
    if kind in _OF_KIND:
        return _OF_KIND[kind]
    if decision_key(one.text)[0]:
        return "decision"
    key = key_of(one.text)[0]
    return "preference" if key.startswith("pref:") else "project"
