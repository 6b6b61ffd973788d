"""Extraction without a model on labelled sessions, judged by what the memories say, beside rules written first.

Right is a memory whose text says what a label of its session says, by the labels' own expressions. The weights that
ship were fitted to labels of these very repositories, so the figures that count come from weights of the same making
that have not seen the repository (:mod:`tests.quality.unseen`; fitting them takes minutes, once).
"""

from collections.abc import Callable, Iterable, Sequence

from slowwave.memory import CATEGORIES
from tests.quality import unseen
from tests.quality.beside import CORPUS, GOLD, missing
from tests.quality.gold_found import Finding, by_cues, by_keywords, by_turns, ours
from tests.quality.gold_texts import SCORER, Label, distractors, labels, said_by, sessions
from tests.quality.intervals import bootstrap, counted, interval, share
from tests.quality.table import Must, Section, Table

HEADER = ("", "right", "share", "95 %", "found", "share", "95 %", "findable")
_UNSEEN = "slowwave, repositories not seen"


def measure(*, errors: bool = False) -> Section:
    """Measure extraction on the labelled sessions."""
    absent = missing(GOLD, CORPUS, SCORER)
    if absent:
        return Section(skipped=absent)
    paths, section = sessions(), Section()
    shipped = ours(paths)
    systems = {"slowwave as shipped (has seen them)": shipped}
    unfit = unseen.missing()
    if unfit:
        section.notes.append(f"{_UNSEEN} SKIPPED: {unfit}")
    else:
        systems = {_UNSEEN: ours(paths, unseen.unseen())} | systems
    first = next(iter(systems.values()))
    sure = [f for f in first if f.is_sure]
    rows = [row(f"{name}{part}", of) for name, every in systems.items() for part, of in _parts(every)]
    beside = {"keyword lines": by_keywords, "every typed turn": by_turns, "cue rules": by_cues}
    rows += [row(f"baseline: {name}", find(paths)) for name, find in beside.items()]
    section.tables = [
        Table(f"{len(paths)} labelled sessions, {len(labels())} labels; by text", HEADER, rows),
        _by("source", sure, lambda f: f.source, None),
        _by("category", sure, lambda f: f.category, lambda x: x.category, CATEGORIES),
        _by("origin", sure, lambda f: f.origin, lambda x: x.origin),
        _by("importance", sure, None, lambda x: str(x.importance)),
        _by("repository", sure, lambda f: f.session.split("/")[1], lambda x: x.session.split("/")[1]),
        _annotators(),
    ]
    cues = by_cues(paths)
    section.musts = [Must("share right above that of cue rules", _right(sure), _right(cues))]
    hit = frozenset[str]().union(*(f.distracts for f in sure))
    section.notes += [
        "found: labels of which a memory says what they say; findable: those that are called findable without a model",
        "the other tables are of what the first line accepts; its intervals: bootstrap over sessions",
        f"distractors that are accepted: {len(hit)} of {len(distractors())}",
    ]
    if errors:
        section.notes += _listed(first, sure)
    return section


def _parts(every: Sequence[Finding]) -> Iterable[tuple[str, list[Finding]]]:
    yield "", [f for f in every if f.is_sure]
    yield ", with what waits", list(every)


def row(name: str, findings: Sequence[Finding], among: Sequence[Label] | None = None) -> tuple[str, ...]:
    """Return the cells of a line: memories that are right, labels that are found, those of them that are findable."""
    wanted = labels() if among is None else among
    groups = [
        ([f for f in findings if f.session == session], [x for x in wanted if x.session == session])
        for session in sorted({x.session for x in labels()})
    ]

    def right(drawn: Sequence[tuple[list[Finding], list[Label]]]) -> float:
        return _right([f for of, _ in drawn for f in of])

    def found(drawn: Sequence[tuple[list[Finding], list[Label]]]) -> float:
        number = sum(_found(of, known)[0] for of, known in drawn)
        return number / every if (every := sum(len(known) for _, known in drawn)) else float("nan")

    hits, every = _found(findings, wanted)
    cells = [f"{sum(bool(f.says) for f in findings)}/{len(findings)}", _cell(_right(findings))]
    cells += [interval(*bootstrap(groups, right)), f"{hits}/{every}", share(hits, every)]
    easy, of = _found(findings, [x for x in wanted if x.findable])
    return name, *cells, interval(*bootstrap(groups, found)), f"{easy}/{of}"


def _right(findings: Sequence[Finding]) -> float:
    return sum(bool(f.says) for f in findings) / len(findings) if findings else float("nan")


def _cell(value: float) -> str:
    return f"{value:.3f}" if value == value else "-"  # noqa: PLR0124 - NaN is not itself


def _found(findings: Iterable[Finding], wanted: Sequence[Label]) -> tuple[int, int]:
    said = frozenset[str]().union(*(f.says for f in findings))
    return sum(x.name in said for x in wanted), len(wanted)


def _by(
    title: str,
    findings: Sequence[Finding],
    of_finding: Callable[[Finding], str] | None,
    of_label: Callable[[Label], str] | None,
    names: Iterable[str] = (),
) -> Table:
    """Return a line for each group: how many of its memories are right, and of its labels which were found at all."""
    groups = {of_finding(f) for f in findings} if of_finding else set[str]()
    groups |= {of_label(x) for x in labels()} if of_label else set()
    rows: list[tuple[str, ...]] = []
    for name in names or sorted(groups):
        own = [f for f in findings if of_finding and of_finding(f) == name]
        wanted = [x for x in labels() if of_label and of_label(x) == name]
        rows.append((name, *counted(sum(bool(f.says) for f in own), len(own)), *counted(*_found(findings, wanted))))
    return Table(f"By {title}", HEADER[:-1], rows)


def _annotators() -> Table:
    """Return how well the statements of each annotator say what the other one's labels say: the ceiling."""
    rows: list[tuple[str, ...]] = []
    names = sorted({x.annotator for x in labels()})
    for one, other in [(a, b) for a in names for b in names if a != b]:
        theirs = tuple(x for x in labels() if x.annotator == other)
        both = {x.session for x in theirs} & {x.session for x in labels() if x.annotator == one}
        mine = [x for x in labels() if x.annotator == one and x.session in both]
        said = [said_by(x.session, x.statement, theirs) for x in mine]
        known = [x for x in theirs if x.session in both]
        found = sum(x.name in frozenset[str]().union(*said) for x in known)
        name = f"{one} against {other}, {len(both)} sessions"
        rows.append((name, *counted(sum(map(bool, said)), len(said)), *counted(found, len(known))))
    return Table("Annotators who read the same sessions: the ceiling", HEADER[:-1], rows)


def _listed(every: Sequence[Finding], sure: Sequence[Finding]) -> Iterable[str]:
    """Yield what is wrong, what waits though it is right, and what is missed."""
    yield from (f"  wrong   {f.confidence:.2f} {f.source} {f.session[-40:]}: {f.text}" for f in sure if not f.says)
    yield from (f"  waits   {f.confidence:.2f} {f.source}: {f.text}" for f in every if f.says and not f.is_sure)
    said = frozenset[str]().union(*(f.says for f in every))
    missed = [x for x in labels() if x.name not in said]
    yield from (f"  missed  {x.category} {x.origin} importance {x.importance}: {x.statement}" for x in missed)
