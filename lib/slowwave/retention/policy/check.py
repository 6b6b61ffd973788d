"""Rules that contradict each other, found before anything is decided by them."""

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from slowwave.errors import SettingsError
from slowwave.retention.policy.model import ClassRules, Policy, Rules

# where periods are laid side by side; a month is as long as it is on average within a day
_AT = datetime(2024, 1, 1, tzinfo=UTC)


def check(policy: Policy, dialects: Collection[str]) -> None:
    """Stop at the first contradiction.

    Args:
        policy: the rules.
        dialects: names of all dialects.

    Raises:
        SettingsError: two rules cannot both hold, or a class can never hold a session; names key, value and remedy.
    """
    _check_rules(policy, "retention.")
    for number, one in enumerate(policy.classes):
        name = f"retention.classes[{number}]."
        if one.dialect and one.dialect not in dialects:
            raise SettingsError(f"{name}dialect", one.dialect, f"write one of {', '.join(sorted(dialects))}")
        _check_rules(one, name)
        _check_reached(one, name, policy.classes[:number])


def _check_rules(rules: Rules, name: str) -> None:
    within, age = rules.keep_within, rules.max_age
    if within is not None and age is not None and within.start(_AT) < age.start(_AT):
        remedy = f"keeps sessions that max_age = {str(age)!r} removes; make it shorter, or max_age longer"
        raise SettingsError(f"{name}keep_within", str(within), remedy)
    last, most = rules.keep_last, rules.max_count
    if last is not None and most is not None and last > most:
        remedy = f"keeps more sessions than max_count = {most} allows; make it smaller, or max_count larger"
        raise SettingsError(f"{name}keep_last", str(last), remedy)


def _check_reached(one: ClassRules, name: str, before: Sequence[ClassRules]) -> None:
    taken = next((number for number, other in enumerate(before) if all(_covers(other, one))), None)
    if taken is not None:
        shown = ", ".join(
            f"{key} = {value!r}" for key in ("dialect", "project", "source") if (value := getattr(one, key))
        )
        remedy = f"retention.classes[{taken}] holds all of its sessions already; put it before that, or take it out"
        raise SettingsError(name.rstrip("."), shown or "all sessions", remedy)


def _covers(other: ClassRules, one: ClassRules) -> Iterator[bool]:
    yield other.dialect in ("", one.dialect)
    yield other.source in ("", one.source)
    # a pattern that fits another pattern, letter by letter, fits whatever that one fits
    yield not other.project or (bool(one.project) and fnmatchcase(one.project, other.project))
