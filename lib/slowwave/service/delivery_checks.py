"""Whether memories stand where the clients that worked in a project read them."""

from collections.abc import Mapping

from slowwave.errors import SlowwaveError
from slowwave.memory.delivery.deliver import REFUSED, deliver
from slowwave.memory.delivery.register import Register, read_register
from slowwave.memory.delivery.targets import OF_AGENTS
from slowwave.memory.topics import INDEX
from slowwave.service.check import Check
from slowwave.settings import Settings
from slowwave.stores.model import Discovery


def delivery(found: Discovery, settings: Settings, environ: Mapping[str, str]) -> Check:
    """Say what stands where, what could not be brought, and how to have memories brought at all."""
    try:
        register = read_register(environ) or Register()
        items = deliver(found.projects, settings, environ, dry_run=True)
    except SlowwaveError as error:
        return Check("delivery", ok=False, seen=str(error), fix="follow that remedy")
    if not register.rules and not register.files:
        unread = [
            p for p in found.projects if (p.memory / INDEX).exists() and {s.dialect for s in p.sessions} & {*OF_AGENTS}
        ]
        seen = "nobody asked for memories in files that agents read"
        if not unread:
            return Check("delivery", ok=True, seen=seen)
        seen += f"; {len(unread)} projects have clients that load none else, first: {unread[0].key}"
        return Check("delivery", ok=True, seen=seen, fix="slowwave install --dry-run shows what it would write")
    seen = f"{len(register.files)} files hold memories, and clients have {len(register.pages)} commands"
    refused = [item for item in items if item.action == REFUSED]
    if refused:
        seen += f"; {len(refused)} things left alone, first: {refused[0].target}: {refused[0].reason}"
        return Check("delivery", ok=True, seen=seen, fix="slowwave install --dry-run shows all of them")
    if items:
        return Check(
            "delivery", ok=True, seen=f"{seen}; {len(items)} are not current", fix="the next night writes them"
        )
    return Check("delivery", ok=True, seen=f"{seen}, all current")
