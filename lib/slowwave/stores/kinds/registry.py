"""All kinds of stores, in the order in which a folder is asked what it is."""

from slowwave.stores.kinds.base import Kind
from slowwave.stores.kinds.claude import ClaudeHome, Transcripts
from slowwave.stores.kinds.codex import CodexHome
from slowwave.stores.kinds.crabtalk import Crabtalk
from slowwave.stores.kinds.openclaw import OpenclawHome
from slowwave.stores.kinds.opencode import Opencode
from slowwave.stores.kinds.pi import Pi
from slowwave.stores.kinds.ulid import Ulid

# Each is a client's home; the first that recognises a folder takes it.
HOMES: tuple[Kind, ...] = (ClaudeHome(), Pi(), CodexHome(), Opencode(), Crabtalk(), Ulid(), OpenclawHome())
# What is no client's home: transcripts that somebody put together.
PLAIN: Kind = Transcripts()
BY_NAME: dict[str, Kind] = {kind.name: kind for kind in (*HOMES, PLAIN)}
