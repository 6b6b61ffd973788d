"""A policy that contradicts itself, or that cannot be read, stops before anything is decided."""

from pathlib import Path

import pytest

from slowwave.errors import SettingsError
from slowwave.quantities import Count, Period
from slowwave.retention.policy import check
from slowwave.settings import ClassRules, Policy, RetentionSettings, load_settings

DIALECTS = ("claude", "codex", "pi")


@pytest.mark.parametrize(
    "policy",
    [
        Policy(),
        RetentionSettings(),
        Policy(keep_within=Period("30d"), max_age=Period("30d")),
        Policy(keep_within=Period("1y"), max_age=Period("unlimited")),
        Policy(keep_last=Count(5), max_count=Count("unlimited")),
        Policy(classes=(ClassRules(source="subagent"), ClassRules(dialect="pi"), ClassRules(project="a*"))),
        Policy(classes=(ClassRules(project="app"), ClassRules(project="ap*"), ClassRules())),
    ],
)
def test_policies_that_hold(policy: Policy) -> None:
    check(policy, DIALECTS)


@pytest.mark.parametrize(
    ("policy", "key", "value"),
    [
        (Policy(keep_within=Period("31d"), max_age=Period("30d")), "retention.keep_within", "31d"),
        (Policy(keep_within=Period("unlimited"), max_age=Period("1y")), "retention.keep_within", "unlimited"),
        (Policy(keep_last=Count(6), max_count=Count(5)), "retention.keep_last", "6"),
        (Policy(classes=(ClassRules(dialect="cladue"),)), "retention.classes[0].dialect", "cladue"),
        (Policy(classes=(ClassRules(), ClassRules(dialect="pi"))), "retention.classes[1]", "dialect = 'pi'"),
        (Policy(classes=(ClassRules(project="a*"), ClassRules(project="app", source="cron"))), "retention.classes[1]",
         "project = 'app', source = 'cron'"),
        (Policy(classes=(ClassRules(keep_last=Count(2), max_count=Count(1)),)), "retention.classes[0].keep_last", "2"),
    ],
)  # fmt: skip
def test_contradictions_name_key_value_and_remedy(policy: Policy, key: str, value: str) -> None:
    with pytest.raises(SettingsError) as caught:
        check(policy, DIALECTS)
    assert (caught.value.key, caught.value.value) == (key, value)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("toml", "key", "value"),
    [
        ('[retention]\nmax_age = "30"', "retention.max_age", "30"),
        ("[retention]\nmax_count = 0", "retention.max_count", "0"),
        ("[retention]\nlow_water = 1.5", "retention.low_water", "1.5"),
        ('[retention]\nmax_bytes = "much"', "retention.max_bytes", "much"),
        ("[retention]\nkeep_weakly = 3", "retention.keep_weakly", "3"),
        ('[[retention.classes]]\nsource = "cron"\n[[retention.classes]]\nmax_age = "3 parsecs"',
         "retention.classes[1].max_age", "3 parsecs"),
        ('[[retention.classes]]\nsource = "corn"', "retention.classes[0].source", "corn"),
        ('[[retention.classes]]\nmaxage = "3d"', "retention.classes[0].maxage", "3d"),
    ],
)  # fmt: skip
def test_malformed_rules_name_key_and_value(tmp_path: Path, toml: str, key: str, value: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(toml)
    with pytest.raises(SettingsError) as caught:
        load_settings({"HOME": str(tmp_path)}, config=file, cwd=tmp_path)
    assert (caught.value.key, str(caught.value.value)) == (key, value)
    assert "Meta" not in caught.value.remedy
