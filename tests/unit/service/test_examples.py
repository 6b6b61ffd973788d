"""The examples of docs/deploy: what their readers (systemd, Compose, Kubernetes, Prefect) would refuse or ignore."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from slowwave.cli import command_line
from slowwave.service.deployments import read_project
from slowwave.service.server import SERVER, project_root

DEPLOY = project_root() / "docs" / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
# prefect-redis reads these, not Prefect
OF_REDIS = {"PREFECT_REDIS_MESSAGING_HOST", "PREFECT_REDIS_MESSAGING_PORT"}
# an image is a name and a tag: which registry it comes from is the operator's choice
IMAGE = re.compile(r"[a-z0-9-]+(:[\w.-]+)?")


def variables(path: Path) -> dict[str, str]:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def known_to_prefect() -> set[str]:
    import prefect.settings  # noqa: PLC0415 - a second that only this test pays

    settings = prefect.settings.get_current_settings()
    # further names of settings, and one that has no value here
    aliases = {"PREFECT_API_DATABASE_CONNECTION_URL", "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE", "PREFECT_API_URL"}
    return set(settings.to_environment_variables(exclude_unset=False)) | aliases


def test_the_servers_settings_are_those_of_serve() -> None:
    here = dict(SERVER)
    assert variables(DEPLOY / "server.env") == here


@pytest.mark.parametrize("name", ["server.env", "server-scaled.env", "worker.env"])
def test_every_variable_is_one_that_somebody_reads(name: str) -> None:
    assert set(variables(DEPLOY / name)) - known_to_prefect() - OF_REDIS - {"DO_NOT_TRACK"} == set()


def test_a_worker_beats_as_often_as_the_automation_expects() -> None:
    env = read_project(project_root())["deployments"][0]["work_pool"]["job_variables"]["env"]
    assert variables(DEPLOY / "worker.env").items() >= env.items()


@pytest.mark.parametrize("unit", UNITS, ids=lambda p: p.name)
def test_systemd_takes_every_line_of_a_unit_and_finds_it_well_locked_in(unit: Path, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not here")
    # where slowwave is not installed in /opt, the command would be what is found wrong
    text = re.sub(r"(?<=ExecStart=)/\S+", "/bin/true", unit.read_text(encoding="utf-8"))
    for other in UNITS:
        (tmp_path / other.name).write_text(
            re.sub(r"(?<=ExecStart=)/\S+", "/bin/true", other.read_text("utf-8")), "utf-8"
        )
    (tmp_path / unit.name).write_text(text, encoding="utf-8")
    instance = unit.name.replace("@.", "@root.")
    seen = subprocess.run(
        ["systemd-analyze", "verify", instance], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (seen.returncode, seen.stderr) == (0, ""), seen.stderr
    # exposure in tenths: 2.0 is as closed as a service can be that reads home folders
    locked = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", unit.name],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert locked.returncode == 0, locked.stdout[-300:]


def test_a_unit_with_a_key_that_systemd_does_not_know_is_found(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not here")
    (tmp_path / "x.service").write_text("[Service]\nExecStart=/bin/true\nProtectEverything=yes\n", encoding="utf-8")
    seen = subprocess.run(
        ["systemd-analyze", "verify", "x.service"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "ProtectEverything" in seen.stderr


SERVICE = {
    "image", "build", "restart", "read_only", "tmpfs", "cap_drop", "security_opt", "env_file", "environment", "command",
    "ports", "networks", "depends_on", "healthcheck", "volumes", "user", "stop_grace_period",
}  # fmt: skip
CONDITIONS = {"service_healthy", "service_completed_successfully", "service_started"}


def compose() -> dict[str, Any]:
    return yaml.safe_load((DEPLOY / "docker" / "compose.yaml").read_text(encoding="utf-8"))


def test_every_key_of_the_compose_file_is_one_of_its_specification() -> None:
    document = compose()
    assert {key for key in document if not key.startswith("x-")} == {"name", "services", "networks", "volumes"}
    for name, service in document["services"].items():
        assert set(service) <= SERVICE, name
        assert IMAGE.fullmatch(service["image"]), name
        assert set(service["networks"]) <= set(document["networks"])
        for other, how in service.get("depends_on", {}).items():
            assert how["condition"] in CONDITIONS
            assert other in document["services"]
            if how["condition"] == "service_healthy":
                assert document["services"][other]["healthcheck"]
        assert [f for f in service.get("env_file", []) if not (DEPLOY / "docker" / f).is_file()] == []


def test_what_reads_transcripts_has_no_way_out_and_no_rights() -> None:
    document = compose()
    worker = document["services"]["worker"]
    assert worker["networks"] == ["inside"]
    assert document["networks"]["inside"]["internal"] is True
    assert (worker["read_only"], worker["cap_drop"]) == (True, ["ALL"])
    # published on this machine only
    assert [p for s in document["services"].values() for p in s.get("ports", [])] == ["127.0.0.1:4200:4200"]
    assert all("volumes" not in document["services"][name] for name in ("server", "services", "migrate", "deploy"))


def test_several_servers_share_leases_and_migrate_once() -> None:
    scaled = variables(DEPLOY / "server-scaled.env")
    assert scaled["PREFECT_SERVER_DATABASE_MIGRATE_ON_START"] == "false"
    assert scaled["PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE"] == "prefect_redis.lease_storage"
    services = compose()["services"]
    assert services["migrate"]["command"] == ["prefect", "server", "database", "upgrade", "-y"]
    for name in ("server", "services", "migrate"):
        assert services[name]["env_file"] == ["../server.env", "../server-scaled.env"]
        assert "@postgres:5432" in services[name]["environment"]["PREFECT_API_DATABASE_CONNECTION_URL"]
    assert "--no-services" in services["server"]["command"]


def test_the_command_that_deploys_parses() -> None:
    command = [part.replace("${TZ:-UTC}", "UTC") for part in compose()["services"]["deploy"]["command"]]
    assert command_line(command[1:]).parse_args(command[1:]).create_pool


def test_the_image_is_made_from_files_that_are_there_and_names_no_registry() -> None:
    text = (DEPLOY / "docker" / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    images = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
    assert len(images) == 2
    assert all(IMAGE.fullmatch(image) for image in images)
    sources = [s for line in re.findall(r"^COPY (?!--from)(.+)$", text, re.MULTILINE) for s in line.split()[:-1]]
    assert [s for s in sources if not (project_root() / s).exists()] == []
    # what the build of a wheel reads: its readme, licence, project file and hook
    assert {"pyproject.toml", "hatch_build.py", "requirements.lock", "README.md", "LICENSE", "prefect.yaml"} <= set(
        sources
    )
    assert "--require-hashes" in text
    assert re.search(r"^USER (?!root)", text, re.MULTILINE)


def test_a_pod_a_run_is_a_template_that_prefect_takes() -> None:
    from prefect.server.schemas.actions import WorkPoolCreate  # noqa: PLC0415 - a second that only this test pays

    template = json.loads((DEPLOY / "kubernetes" / "base-job-template.json").read_text(encoding="utf-8"))
    WorkPoolCreate(name="slowwave", type="kubernetes", base_job_template=template)
    fields = template["variables"]["properties"]
    placed = set(re.findall(r"\{\{ (\w+) \}\}", json.dumps(template["job_configuration"])))
    assert placed == set(fields)
    assert all(field["title"] and field["description"] for field in fields.values())
    pod = template["job_configuration"]["job_manifest"]["spec"]["template"]["spec"]
    assert (pod["parallelism"], pod["completions"], pod["restartPolicy"]) == (1, 1, "Never")
    assert pod["containers"][0]["name"] == "prefect-job"
    assert IMAGE.fullmatch(fields["image"]["default"])


def test_a_template_with_an_undeclared_placeholder_is_refused() -> None:
    from prefect.server.schemas.actions import WorkPoolCreate  # noqa: PLC0415 - as above

    wrong: dict[str, Any] = {"variables": {"properties": {}}, "job_configuration": {"image": "{{ image }}"}}
    with pytest.raises(ValueError, match="image"):
        WorkPoolCreate(name="x", type="kubernetes", base_job_template=wrong)


def test_the_worker_of_a_cluster_runs_alone_without_rights_and_reaches_its_server_only() -> None:
    text = (DEPLOY / "kubernetes" / "worker.yaml").read_text(encoding="utf-8")
    claim, deployment, policy = yaml.safe_load_all(text)
    assert [d["kind"] for d in (claim, deployment, policy)] == ["PersistentVolumeClaim", "Deployment", "NetworkPolicy"]
    spec = deployment["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert deployment["spec"]["strategy"]["type"] == "Recreate"
    assert deployment["spec"]["selector"]["matchLabels"] == deployment["spec"]["template"]["metadata"]["labels"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert {v["name"] for v in spec["volumes"]} == {m["name"] for m in container["volumeMounts"]}
    assert spec["volumes"][0]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    assert policy["spec"]["podSelector"]["matchLabels"] == deployment["spec"]["selector"]["matchLabels"]
    assert IMAGE.fullmatch(container["image"])
    env = {e["name"]: e["value"] for e in container["env"]}
    assert set(env) - known_to_prefect() == {"HOME"}
