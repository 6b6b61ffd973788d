"""Whether the language model of the settings answers: one tiny question, and only when somebody asks for it."""

from collections.abc import Mapping

import msgspec

from slowwave.models.base import Ask, ModelError, model_of
from slowwave.models.meter import Meter
from slowwave.service.check import Check
from slowwave.settings import Settings

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
)


def model(settings: Settings, environ: Mapping[str, str], *, ask: bool) -> Check:
    """Say which model there is; with ``ask`` whether it answers, in which form and at what cost."""
    given = settings.model
    if not given.base_url and not given.name:
        return Check("model", ok=True, seen="none, and none is needed")
    if not (given.base_url and given.name):
        lacks = "name" if given.base_url else "base_url"
        return Check("model", ok=False, seen="half a model is set", fix=f"set model.{lacks}, too, or neither")
    key = "with" if environ.get(given.api_key_env) else "without"
    where = f"{given.name} at {given.base_url}, {key} a key in ${given.api_key_env}"
    if not ask:
        return Check("model", ok=True, seen=f"{where}; not asked (--model asks it one tiny question)")
    # now and once: a batch would answer another night, and a person is waiting
    once = msgspec.structs.replace(given, batch=False, retries=0)
    found = model_of(msgspec.structs.replace(settings, model=once), environ, Meter(once))
    assert found is not None
    try:
        answer = found.answer(_ASK)
    except ModelError as error:
        fix = "correct model.base_url, model.name or the key; nights do without it until then"
        return Check("model", ok=False, seen=f"{where}: {error}", fix=fix)
    tokens = answer.usage.prompt_tokens + answer.usage.completion_tokens
    return Check("model", ok=True, seen=f"{where}, answers by {answer.form} ({tokens} tokens)")
