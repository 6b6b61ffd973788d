"""The server behind ``slowwave mcp``: it speaks the protocol on its standard streams, and asks :mod:`.answers`.

Where the agent works is what its client says (roots), else the folder that the client started this process in.
"""

import inspect
import os
import warnings
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

import anyio
import anyio.to_thread
import msgspec
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from slowwave import __version__
from slowwave.errors import SlowwaveError, told
from slowwave.locks import beside_jobs
from slowwave.mcp.answers import NAMES, Asked, answer
from slowwave.secrets.redactor import NAMELESS, logger_of, redactor_of
from slowwave.settings import Settings

_INSTRUCTIONS = (
    "What earlier sessions of coding agents in this project taught, and the sessions themselves. Search memories before"
    " you decide something that may have been decided before, or run into an error that may have been met before."
)
# a client that does not answer must not keep a question waiting
_ROOTS_SECONDS = 3.0

log = logger_of(__name__)
Context = Any


def serve(settings: Settings, environ: Mapping[str, str]) -> None:
    """Answer questions on the standard streams until the client closes them."""
    anyio.run(_serve, settings, environ)


async def _serve(settings: Settings, environ: Mapping[str, str]) -> None:
    server = server_of(settings, environ)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def server_of(settings: Settings, environ: Mapping[str, str]) -> Server[Any]:
    """Return the server, with all of its tools."""
    # one after another: each may bring the search index up to date
    turn = anyio.Lock()

    async def list_tools(_context: Context, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_tool(name, kind) for name, kind in NAMES.items()])

    async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
        folders = await _folders(context, environ)
        async with turn:
            text, is_error = await anyio.to_thread.run_sync(
                _answered, params.name, params.arguments or {}, settings, environ, folders
            )
        return CallToolResult(content=[TextContent(type="text", text=text)], is_error=is_error)

    return Server(
        "slowwave", version=__version__, instructions=_INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )


def _tool(name: str, kind: type[Any]) -> Tool:
    (schema,), parts = msgspec.json.schema_components([kind])
    own = {key: value for key, value in parts[schema["$ref"].rpartition("/")[2]].items() if key != "description"}
    hints = ToolAnnotations(
        title=name.replace("_", " "), read_only_hint=True, destructive_hint=False, idempotent_hint=True,
        open_world_hint=False,
    )  # fmt: skip
    return Tool(name=name, description=inspect.getdoc(kind), input_schema=own, annotations=hints)


def _answered(
    name: str, arguments: dict[str, Any], settings: Settings, environ: Mapping[str, str], folders: list[str]
) -> tuple[str, bool]:
    """Return the answer as JSON, or what is wrong, and whether anything is."""
    try:
        kind = NAMES.get(name)
        if kind is None:
            return f"no tool {NAMELESS(name[:100])!r}; there are {', '.join(NAMES)}", True
        question = msgspec.convert(arguments, kind)
        # an erasure at work is waited for: the search index would be written with what goes
        with beside_jobs(environ):
            asked = Asked(settings, environ, redactor_of(settings, environ, create=False), folders)
            found = answer(question, asked)
        return msgspec.json.format(msgspec.json.encode(found).decode(), indent=1), False
    except (SlowwaveError, msgspec.ValidationError) as error:
        return NAMELESS(str(error)), True
    except OSError as error:
        return NAMELESS(told(error, name)), True
    except Exception as error:
        # a bug must not cost the agent its server; the traceback goes to the log
        log.exception("%s broke", name)
        return f"{name} broke: {type(error).__name__}", True


async def _folders(context: Context, environ: Mapping[str, str]) -> list[str]:
    """Return where the agent works: what its client names, else where it started this process."""
    here = _here(environ)
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.roots is None or not context.session.can_send_request:
        return [here]
    try:
        with warnings.catch_warnings(), anyio.fail_after(_ROOTS_SECONDS):
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            found = await context.session.list_roots()
    except (MCPError, TimeoutError, ValueError) as error:
        # the last of a client that sends what the protocol does not know
        log.warning("the client does not tell its roots (%s)", error)
        return [here]
    uris = [urlsplit(str(root.uri)) for root in found.roots]
    return [unquote(uri.path) for uri in uris if uri.scheme == "file" and uri.netloc in ("", "localhost")] or [here]


def _here(environ: Mapping[str, str]) -> str:
    """Return the folder of this process, through the links that its shell went."""
    here, spelled = os.getcwd(), environ.get("PWD", "")  # noqa: PTH109 - a name as it is on disk, any bytes
    return spelled if spelled and os.path.realpath(spelled) == here else here
