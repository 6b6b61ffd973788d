"""A memory folder as a client's own memory leaves it after months: long, said twice, out of date, partly by hand."""

from tests.unit.consolidation.folders import Folder

BY_HAND = ("- Ask Priya before you touch billing", "- never deploy on Fridays!!")
TWICE = (
    ("- Run `make test` before each commit", "- Before each commit, run `make test`"),
    ("- The user prefers tabs over spaces", "- I prefer tabs over spaces"),
    ("- The API listens on port 8080", "- API listens on port 8080."),
)
STALE = ("- [Old plan](plan.md) - what we wanted to do in spring", "- [Sprint 12](sprint-12.md)")
DATED = ("- Yesterday we moved the docs to mkdocs", "- Last week the staging database was renamed to quill-stage")
CHOSEN = "- We use Postgres for the job queue"
CHANGED = "- We use Redis for the job queue instead of Postgres"
PARTS = tuple(
    f"{a} {b}"
    for a in ("import", "export", "search", "billing", "login", "report", "mail", "sync", "audit", "upload")
    for b in ("worker", "API", "page", "schema", "cache", "test suite", "script", "queue", "job", "parser")
)
KNOWN = (
    "- The {0} is in `src/{1}/`",
    "- The {0} retries {2} times before it gives up",
    "- Changes to the {0} need a new migration in `db/{1}/`",
)
LINES = tuple(
    known.format(part, part.replace(" ", "-").lower(), 3 + number % 5)
    for number, part in enumerate(PARTS)
    for known in KNOWN[: 2 + number % 2]
)


def left_behind(folder: Folder) -> None:
    """Fill a memory folder; every line but two is proven to be an agent's."""
    first = [
        "# quill\n", "## How we work\n", *(a for a, _ in TWICE), *DATED, CHOSEN, "", "## Pages\n",
        "- [Deploying](deploy.md) - how a release goes out", *STALE, "", "## Parts\n", *LINES[:200],
    ]  # fmt: skip
    folder.agent_writes("MEMORY.md", "\n".join(first) + "\n", at="2026-11-10T09:00:00.000Z")
    deploy = (
        "---\nname: Deploying\ndescription: how a release goes out\ntype: project\n---\n\n- Tag, then `make release`\n"
    )
    folder.agent_writes("deploy.md", deploy, at="2026-11-10T09:05:00.000Z")
    orphan = "---\nname: Dana\ndescription: who works here\ntype: user\n---\n\n- The user works on the search page\n"
    folder.agent_writes("user_dana.md", orphan, at="2026-11-10T09:06:00.000Z")
    later = "\n".join(("", "## Later\n", *(b for _, b in TWICE), CHANGED, *LINES[200:], ""))
    folder.agent_writes("MEMORY.md", later, at="2026-11-17T09:00:00.000Z", edit=True)
    index = folder.memory / "MEMORY.md"
    lines = index.read_text().split("\n")
    lines[4:4] = [BY_HAND[0]]
    index.write_text("\n".join((*lines[:60], BY_HAND[1], *lines[60:])))
