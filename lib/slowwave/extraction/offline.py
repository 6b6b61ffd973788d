"""Extraction without a model: what of a reading is worth keeping, each as a note that stands alone.

Structure first: a choice in a dialog, a recap that the person's own words bear out, what a command proved. Then
statements, each judged by the classifier. What is not sure enough is a note all the same; its confidence says so, and
it waits in the inbox.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from slowwave.extraction.candidates import Note
from slowwave.extraction.classifier import Surroundings, Weights, dialog, pieces_of, weights
from slowwave.extraction.discussion import settled
from slowwave.extraction.phrases import for_good, taken_back
from slowwave.extraction.practice import practice
from slowwave.extraction.voice import documents, doubt_of, is_pasted, theirs
from slowwave.memory import PASTED, RETRACTS, CandidateOrigin, Category
from slowwave.memory.search import named
from slowwave.reading import (
    Chosen,
    Part,
    Ran,
    Reading,
    Said,
    Statement,
    begun,
    contents_of,
    is_small_talk,
    points_back,
    refers_back,
    sentences,
    statements,
)
from slowwave.reading.session import FORGET, REMEMBER, requests_in

# Texts that stand alone: what was said, put together with what it needs to be understood weeks later.
#
# Nothing is reworded. An entry of a list takes along what it stands under, a sentence that points back the one before
# it, a choice its question and what the option was said to mean, an assent the proposal that it names.

MOST_CHARS = 300
# a message of so many is told as a whole
WHOLE_CHARS = 240
_MOST_BREAKS = 2
_LEAD_CHARS = 70
# a longer question is told without what led to it
_QUESTION_CHARS = 150
_SHORTEST_SUBJECT = 3
_LEAST_EXPLAINED = 4
_ENDS = (".", "!", "?", "\u3002")
_STOPS = ".!?\u2026,;:\u2013\u2014-(\u3002\uff01\uff1f\uff0c\uff1b\uff1a\u3001"
# lines of so many are mostly wrapped by a program
_MARGIN = 60
_MARKUP = re.compile(r"^[>\s]+|^(?:#{1,6}\s+)")
# "1024**2" and "__init__" are no emphasis
_STRONG = re.compile(
    r"(?<![\w*])\*\*(?=[^\s*])(.+?)(?<=[^\s*])\*\*(?![\w*])|(?<!\w)__(?=\S)([^_]*(?:\s[^_]*)+)__(?!\w)"
)
_LINK = re.compile(r"\[([^\]\n]{1,120})\]\([^)\s]{1,300}\)")
_LABELLED = re.compile(r"^[`\"'(]?[^.!?:]{2,60}(?::\s|\s[\u2014\u2013-]\s)")
_RECOMMENDED = re.compile(r"\s*\((?:recommended|default)\)\s*", re.IGNORECASE)
_LEADS_NOTHING = re.compile(r"^(?:here(?:'s| is| are)|let me|i(?:'ll|'ve| will)?\b|now|next|below|so)\b", re.IGNORECASE)


def plain(text: str) -> str:
    """Return a text on one line without the marks of Markdown; code keeps its own."""
    bare = _STRONG.sub(lambda found: found[1] or found[2] or "", _MARKUP.sub("", text))
    return " ".join(_LINK.sub(r"\1", bare).split())


def on_one_line(statement: Statement) -> str:
    """Return the words of a statement without marks of Markdown, those of different lines apart.

    A line that reaches the margin was wrapped; what stands on a shorter one and has no stop ends with it.
    """
    typed = None
    if statement.said.speaker == "person":
        typed = re.search(r"\s+".join(map(re.escape, statement.text.split())), statement.said.own)
    lines = [" ".join(line.split()) for line in typed[0].split("\n")] if typed else [statement.text]
    return plain(_apart((one, len(one) < _MARGIN) for one in lines))


def _apart(pieces: Iterable[tuple[str, bool]]) -> str:
    """Return pieces in a row, with a semicolon where one ends that has no stop; each with whether it ends."""
    told, is_end = "", False
    for piece, ends in pieces:
        told = f"{told}{';' if is_end and told[-1:] not in _STOPS else ''} {piece}".strip()
        is_end = ends
    return told


def standing(statement: Statement) -> str:
    """Return the words of a statement with what they need to be understood alone."""
    text = on_one_line(statement)
    if points_back(text) and statement.before:
        before = plain(sentences(statement.before)[-1])
        if len(before) + len(text) < MOST_CHARS and not is_small_talk(before):
            text = f"{before} {text}"
    if statement.is_entry or points_back(text):
        for lead in reversed(statement.under):
            words = plain(lead).rstrip(":.")
            if len(words) <= _LEAD_CHARS and len(words) > _SHORTEST_SUBJECT and not _LEADS_NOTHING.match(words):
                return text if _LABELLED.match(text) and not points_back(text) else f"{words}: {text}"
    return text


def choice(chosen: Chosen) -> str:
    """Return what was chosen in a dialog with what it needs to be understood: what was asked, and what it means.

    Where the dialog has a title and the option was said to mean something, these lead, and what was asked stands behind
    them, unless it says next to nothing ("Which one?"). Else the question says what it is about. Of the meaning there
    are as many sentences as there is room for.
    """
    question, title = _asking(plain(chosen.question)), plain(chosen.header)
    options = [(_RECOMMENDED.sub("", plain(one.label)), plain(one.description)) for one in chosen.chosen]
    if title and len(options) == 1 and options[0][1]:
        ((label, meaning),) = options
        lead = f"{title}: {label}{'' if label.endswith(_ENDS) else '.'}"
        behind = f" (asked: {question})" if len(contents_of(question)) >= _LEAST_EXPLAINED else ""
        told = _fitting(meaning, MOST_CHARS - len(lead) - len(behind) - 1)
        return f"{lead} {told}{behind}" if told else f"{lead} {_fitting(meaning, MOST_CHARS - len(lead) - 1)}".strip()
    if title and len(title) + len(question) < _QUESTION_CHARS and title.casefold() not in question.casefold():
        question = f"{title}: {question}"
    if len(options) == 1:
        ((label, meaning),) = options
        told = _fitting(meaning, MOST_CHARS - len(question) - len(label) - 6)
        return f"{question} \u2192 {label}{f' ({told})' if told else ''}"
    answers = [f"{label} ({meaning})" if meaning else label for label, meaning in options]
    if answers:
        return f"{question} \u2192 {'; '.join(answers)}"
    answer = _RECOMMENDED.sub("", plain(chosen.answer))
    whole = f"{question} \u2192 {answer}"
    # the title is enough where there is no room for both, and of a long answer its begin and its end say what is wanted
    return whole if len(whole) <= MOST_CHARS or not title else _with_end(f"{title}:", answer)


def _asking(question: str) -> str:
    """Return the part of a question that asks; with the sentence before it, where it says next to nothing alone."""
    every = sentences(question)
    at = next((at for at, one in reversed(list(enumerate(every))) if one.endswith(("?", "\uff1f"))), -1)
    if at < 0 or len(question) <= _QUESTION_CHARS:
        return question
    is_alone = at == 0 or len(contents_of(every[at])) >= _LEAST_EXPLAINED
    return every[at] if is_alone else f"{every[at - 1]} {every[at]}"


def _with_end(text: str, answer: str) -> str:
    """Return a text with an answer behind it: the first sentence, and as many of the last ones as there is room for."""
    first, *rest = sentences(answer)
    last = ""
    while rest and len(f"{text} {first} \u2026 {rest[-1]} {last}") <= MOST_CHARS:
        last = f"{rest.pop()} {last}".strip()
    between = " \u2026" if rest else ""
    return f"{text} {first}{between} {last}".strip()


def _fitting(text: str, room: int) -> str:
    """Return as many sentences of a text as fit into so many characters, from its first one on."""
    told = ""
    for sentence in sentences(text):
        longer = f"{told} {sentence}".strip()
        if len(longer) > room:
            break
        told = longer
    return told


# what nobody typed can be a fact about the project or a way of working, never somebody's wish
_UNSAID: tuple[Category, ...] = ("project", "pattern")
_SAME = 0.6
_TAKEN_BACK = 0.95
_SETTLED = 0.7
# of the likeliest findings readers wanted every other one
_FOUND = 0.45
# what is less likely worth keeping is for the moment
_PASSING = 0.1
# what a person typed behind a command that is for nothing else
_ASKED = 0.99
# what a person asks to be remembered in so many words, where it sounds like more than a matter of the moment
_MEANT, _LEAST_MEANT = 0.9, 0.1
# what cannot be understood without words that no memory has waits, whatever it is worth where it was said
_UNCLEAR = 0.5
# what an agent asked for waits for a person, whatever it is worth
_REQUESTED = 0.6
_REQUEST = "an agent asked for it, and nobody typed it"
_BY_PROGRAM = "typed where the client had no screen, so perhaps by a program"
_CHANNELS: tuple[tuple[str, CandidateOrigin], ...] = (("said", "user_explicit"), ("refusal", "user_correction"))


def notes(reading: Reading) -> list[Note]:
    """Return what a reading says, in its order; of what is said several times, the likeliest wording."""
    known = weights()
    found = _once([*_said(reading, known), *_settled(reading), *practice(reading)])
    said = [contents_of(note.text) for note in found if note.origin.startswith("user_")]
    # what an agent asks for that the person said is found without it
    asked = [n for n in _requested(reading, known) if not any(_is_same(contents_of(n.quote), one) for one in said)]
    return sorted([*found, *_once(asked)], key=lambda note: note.items[-1].order)


def _said(reading: Reading, known: Weights) -> Iterator[Note]:
    around = Surroundings(reading)
    for item in reading.items:
        if isinstance(item, Chosen):
            yield _chosen(item, known)
        elif isinstance(item, Said) and item.speaker == "person":
            yield from _asked(item, around, known) if item.command else _typed(item, around, known)
        elif isinstance(item, Said):
            yield from _told(item, around, known)


def _asked(said: Said, around: Surroundings, known: Weights) -> Iterator[Note]:
    """Yield what a person typed behind slowwave's own command: sure, whatever its words are."""
    doubt = _BY_PROGRAM if said.by_program else ""
    if said.command == REMEMBER:
        for statement in statements(said):
            category, text = known.category(around.features(statement)), statement.text
            yield Note("command", category, text, _ASKED, "user_explicit", (said,), text, doubt=doubt)
    elif said.command == FORGET and named(words := " ".join(said.own.split())):
        text = f"forget {words}"
        yield Note("command", "decision", text, _ASKED, "user_explicit", (said,), words, RETRACTS, words, doubt)


def _requested(reading: Reading, known: Weights) -> Iterator[Note]:
    """Yield what an agent asked for by running slowwave: nobody but a person can say whether it is theirs."""
    around = Surroundings(reading)
    for item in reading.items:
        for name, words, _ in requests_in(item.run) if isinstance(item, Ran) else ():
            place = (item.order, item.sources, item.record, item.at, item.cwd)
            said = Said(*place, "person", (Part(words, is_pasted=False),), "command")
            category = known.category(around.features(Statement(said, words, 0, 1)))
            is_end = name == FORGET
            text, key, value = (f"forget {words}", RETRACTS, words) if is_end else (words, "", "")
            kind: Category = "decision" if is_end else category
            yield Note("request", kind, text, _REQUESTED, "assistant", (item,), words, key, value, _REQUEST)


def _chosen(item: Chosen, known: Weights) -> Note:
    """Return a choice as a note: whoever chooses between what is offered decides."""
    confidence = known.settles(set(dialog(item)), pieces_of(f"{item.question} {item.answer}"))
    return Note(
        "choice", "decision", choice(item), confidence, "user_explicit", (item,), f"{item.question} {item.answer}"
    )


def _typed(said: Said, around: Surroundings, known: Weights) -> Iterator[Note]:
    every = statements(said)
    source, origin = _CHANNELS[said.channel == "refusal"]
    others = theirs(every, known)
    pasted = PASTED if is_pasted(documents(every, known)) else ""
    judged = [(one, around.features(one)) for one in every]
    worth = [known.wish(one.text, features) for one, features in judged]
    is_short = len(said.text) <= WHOLE_CHARS and not any(one.is_entry or one.under for one in every)
    # on several lines stand several answers
    is_short = is_short and said.own == said.text and said.own.strip().count("\n") < _MOST_BREAKS
    for at, (statement, features) in enumerate(judged):
        if not contents_of(statement.text):
            continue  # "go on" names nothing
        thing = taken_back(statement.text)
        if thing:
            # it names what it ends; words around it have nothing else to talk about but the rule
            text, doubt = plain(statement.text), pasted or doubt_of(others)
            yield Note("retraction", "decision", text, _TAKEN_BACK, origin, (said,), text, RETRACTS, thing, doubt)
            continue
        category, confidence = known.category(features), worth[at]
        # who asks for it to be remembered means it wherever it stands
        meant = for_good(statement.text) if known.wish(statement.text) >= _LEAST_MEANT else ""
        alone = replace(statement, text=meant[:1].upper() + meant[1:]) if meant else statement
        text = begun(_with_others(every, worth, at) if is_short and not meant else standing(alone))
        confidence = max(confidence, _MEANT) if meant else confidence
        confidence = min(confidence, _UNCLEAR) if refers_back(text) else confidence
        doubt = pasted or doubt_of(others, is_asked=bool(meant) and len(every) == 1)
        yield Note(source, category, text, confidence, origin, (said,), statement.text, doubt=doubt)


def _with_others(every: Sequence[Statement], worth: Sequence[float], at: int) -> str:
    """Return a sentence with the others of its short message: what a rule is about mostly stands in another one.

    What is only for the moment is left out, but for the one before it where it says next to nothing alone.
    """
    alone = every[at].text
    is_led = points_back(alone) or refers_back(alone) or len(contents_of(alone)) < _LEAST_EXPLAINED
    told = [
        on_one_line(one)
        for number, one in enumerate(every)
        if number == at or worth[number] >= _PASSING or (is_led and number == at - 1)
    ]
    return _apart((one, True) for one in told if contents_of(one))


def _told(said: Said, around: Surroundings, known: Weights) -> Iterator[Note]:
    """Yield what the assistant said: findings, facts and ways of working at most."""
    for statement in statements(said):
        features = around.features(statement)
        confidence, category = known.told(features), known.category(features, _UNSAID)
        if confidence < _FOUND:
            continue  # what assistants say of their work would bury what waits for a person
        yield Note("finding", category, standing(statement), confidence, "assistant", (said,), statement.text)


def _settled(reading: Reading) -> Iterator[Note]:
    """Yield what discussions settled, as the person's word: they said it, and let its summary stand."""
    for one in settled(reading):
        text = plain(one.text)
        yield Note("recap", "decision", text, _SETTLED, "user_explicit", one.shown, one.statement.text)


def _once(found: Sequence[Note]) -> list[Note]:
    """Return of notes that say the same only the likeliest; the newest of equals."""
    kept: list[tuple[frozenset[str], Note]] = []
    for note in sorted(found, key=lambda n: (-n.confidence, -n.items[-1].order)):
        content = contents_of(note.text)
        if not any(_is_same(content, words) and not _are_apart(note, other) for words, other in kept):
            kept.append((content, note))
    return [note for _, note in kept]


def _is_same(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= _SAME * len(one | other)


def _are_apart(one: Note, other: Note) -> bool:
    """Say whether two notes are about other commands, take other things back, or are clauses of one recap."""
    if one.source == other.source == "recap":
        return True
    return bool(one.key and other.key) and (one.key, one.value) != (other.key, other.value)
