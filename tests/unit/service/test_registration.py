"""What is asked before deployments are registered: each doubt has its cause, and the automation says what it must."""

from collections.abc import Mapping
from typing import Any

import pytest

from slowwave.errors import SlowwaveError
from slowwave.service.deployments import automations, read_project, require_entrypoints, server_doubts
from slowwave.service.server import SERVER, project_root


def told(**changed: Any) -> dict[str, Any]:
    """Return what a server with our settings tells of them, with some of them changed."""
    tree: dict[str, Any] = {
        "concurrency": {"lease_storage": SERVER["PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE"]},
        "services": {
            "task_run_recorder": {"batch_size": 200},
            "db_vacuum": {"enabled": ["events", "flow_runs"]},
        },
        "analytics_enabled": False,
    }
    for key, value in changed.items():
        at = tree
        *folders, leaf = key.split("__")
        for step in folders:
            at = at[step]
        at[leaf] = value
    return {"server": tree}


def test_a_server_with_our_settings_is_not_doubted() -> None:
    assert list(server_doubts(told())) == []


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"concurrency__lease_storage": "prefect.server.concurrency.lease_storage.memory"}, "leases in memory"),
        ({"services__task_run_recorder__batch_size": 1}, "one task run at a time"),
        ({"services__db_vacuum__enabled": ["events"]}, "never deletes finished runs"),
        ({"services__db_vacuum__enabled": None}, "never deletes finished runs"),
        ({"analytics_enabled": True}, "reports to its makers"),
    ],
)
def test_each_setting_that_costs_something_is_doubted_with_its_remedy(changed: dict[str, Any], says: str) -> None:
    (doubt,) = server_doubts(told(**changed))
    assert says in doubt
    assert doubt.endswith("docs/deploy/server.env")


def test_redis_leases_are_as_good_and_silence_is_no_fault() -> None:
    assert list(server_doubts(told(concurrency__lease_storage="prefect_redis.lease_storage"))) == []
    silent: list[Mapping[str, Any]] = [{}, {"server": None}, {"server": {"services": {}}}]
    assert [list(server_doubts(tree)) for tree in silent] == [[], [], []]


def test_a_flow_that_does_not_load_is_named_with_the_remedy() -> None:
    with pytest.raises(SlowwaveError, match=r"flows/none\.py:none does not load.*install slowwave again"):
        require_entrypoints(["flows/none.py:none"])


def test_the_automation_waits_for_three_heartbeats_of_our_runs_and_for_any_end_of_them() -> None:
    (died,) = [one for one in automations() if one.name == "slowwave: worker died"]
    trigger: Any = died.trigger
    beats = {
        float(d["work_pool"]["job_variables"]["env"]["PREFECT_FLOWS_HEARTBEAT_FREQUENCY"])
        for d in read_project(project_root())["deployments"]
    }
    assert {trigger.within.total_seconds()} == {3 * beat for beat in beats}
    assert trigger.posture.value == "Proactive"
    assert trigger.after == {"prefect.flow-run.heartbeat", "prefect.flow-run.Running"}
    assert trigger.expect == {"prefect.flow-run.*"}
    assert trigger.match_related.root["prefect.resource.id"] == "prefect.tag.slowwave"
    assert all("slowwave" in deployment["tags"] for deployment in read_project(project_root())["deployments"])
    assert [action.type for action in died.actions] == ["change-flow-run-state"]
