"""Whether the language model of the settings answers: one tiny question, and only when somebody asks for it."""

import shlex
from collections.abc import Mapping

import msgspec

from slowwave.models.base import Ask, ModelError, model_of
from slowwave.models.command.process import found_program
from slowwave.models.meter import Meter
from slowwave.service.check import Check
from slowwave.settings import ModelSettings, Settings

_ASK = Ask(
    purpose="doctor",
    system="You answer with JSON.",
    user='Answer with {"ok": true}.',
    schema={
        "type": "object",
        "properties": {"ok": {"type": "boolean"}},
        "required": ["ok"],
        "additionalProperties": False,
    },
    schema_name="doctor",
    max_output_tokens=64,
    line_form="Answer with the one word ok.",
)


def model(settings: Settings, environ: Mapping[str, str], *, ask: bool) -> Check:
    """Say which model there is; with ``ask`` whether it answers, in which form and at what cost."""
    given = settings.model
    if not (given.command or given.base_url or given.name):
        return Check("model", ok=True, seen="none, and none is needed")
    if not given.is_set:
        lacks = "name" if given.base_url else "base_url"
        return Check("model", ok=False, seen="half a model is set", fix=f"set model.{lacks}, too, or neither")
    where, fix = _place(given, environ)
    if given.command and found_program(given.command[0], environ) is None:
        return Check("model", ok=False, seen=f"{where}: there is no such program", fix="correct model.command or $PATH")
    if not ask:
        return Check("model", ok=True, seen=f"{where}; not asked (--model asks it one tiny question)")
    # now and once: a batch would answer another night, and a person is waiting
    once = msgspec.structs.replace(given, batch=False, retries=0)
    meter = Meter(once)
    found = model_of(msgspec.structs.replace(settings, model=once), environ, meter)
    assert found is not None
    try:
        answer = found.answer(_ASK)
    except ModelError as error:
        return Check("model", ok=False, seen=f"{where}: {error}", fix=f"{fix}; nights do without it until then")
    who = f"{program} " if (program := meter.spent().program) else ""
    tokens = answer.usage.prompt_tokens + answer.usage.completion_tokens
    counted = "estimated " if answer.usage.is_estimated else ""
    return Check("model", ok=True, seen=f"{where}, {who}answers by {answer.form} ({tokens} {counted}tokens)")


def _place(given: ModelSettings, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return where the model is, and what to correct where it does not answer."""
    if given.command:
        fix = "run the command by hand with a question on its standard input, log in there, or correct model.command"
        return f"the command {shlex.join(given.command)}", fix
    key = "with" if environ.get(given.api_key_env) else "without"
    where = f"{given.name} at {given.base_url}, {key} a key in ${given.api_key_env}"
    return where, "correct model.base_url, model.name or the key"
