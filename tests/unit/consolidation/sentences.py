"""Generated sentences: twins that look alike and say different things, and paraphrases that say the same."""

# ruff: noqa: E501 - tables of sentences

from collections.abc import Iterator
from itertools import combinations, product

_NUMBERS = (("8080", "9090"), ("3", "4"), ("80", "120"), ("10", "100"), ("1,000", "10,000"), ("0", "1"))
_VERSIONS = (("3.9", "3.12"), ("v2", "v3"), ("1.2.3", "1.2.4"), ("20", "22"), ("2024.1", "2024.2"), ("0.9", "1.0"))
_PATHS = (
    ("src/api.py", "src/app.py"), ("tests/unit", "tests/e2e"), ("docs/adr", "docs/rfc"), ("app/v1/x.ts", "app/v2/x.ts"),
    ("config.yml", "config.yaml"), ("a/b/c.go", "a/b/d.go"), (".env", ".env.local"), ("~/notes", "/notes"),
)  # fmt: skip
_UNITS = (("30 s", "30 ms"), ("5 minutes", "5 hours"), ("50 MB", "50 GB"), ("10 KB", "10 KiB"), ("2 days", "2 weeks"), ("90 %", "90 px"), ("8 Mb", "8 MB"))  # fmt: skip
_NAMES = (
    ("load_user", "load_users"), ("--force", "--dry-run"), ("-O2", "-O3"), ("fetchAll", "fetchall"), ("@core", "@web"),
    ("Python >= 3.11", "Python <= 3.11"), ("service A", "service B"), ("c++", "c#"), ("release-2024", "release-2025"),
)  # fmt: skip

_NUMBER_FRAMES = (
    "The API listens on port {}", "Keep lines below {} characters", "Retry at most {} times", "We keep {} backups",
    "The staging database runs on port {}", "Never open more than {} pull requests at once", "Use {} workers in CI",
    "A batch has {} records", "Page size is {} and must stay so", "Set the cache to {} entries", "Wait {} rounds first",
)  # fmt: skip
_VERSION_FRAMES = (
    "We support Python {}", "The client needs version {} of the protocol", "Pin react to {}", "Upgrade node to {}",
    "Stay on {} until spring", "The image is built from debian {}", "Use the {} schema for new events",
)  # fmt: skip
_PATH_FRAMES = (
    "Config lives in {}", "Never edit {} by hand", "Put fixtures into {}", "Read {} before you change anything",
    "Generated code goes to {}", "Keep {} out of git", "The schema is in {}", "Import helpers from {} only",
)  # fmt: skip
_UNIT_FRAMES = ("Requests time out after {}", "The limit is {}", "Uploads are capped at {}", "Keep logs for {}", "Rotate every {}")  # fmt: skip
_NAME_FRAMES = ("Always call {} first", "Deploy with {}", "Prefer {} in new code", "Never use {} in tests")
_SAID = (
    "use tabs", "squash commits", "commit to main", "mock the database", "add type hints", "log request bodies",
    "write docstrings", "run migrations by hand", "deploy on Fridays", "use default exports", "cache the responses",
    "edit generated files", "force push", "use any in TypeScript", "skip the changelog", "rebase shared branches",
)  # fmt: skip
_OPPOSED = (
    ("Use tabs, not spaces", "Use spaces, not tabs"), ("Use tabs, don't use spaces", "Don't use tabs, use spaces"),
    ("Run tests before a commit", "Run tests after a commit"), ("Enable the cache", "Disable the cache"),
    ("Turn the cache on", "Turn the cache off"), ("Only merge tested code", "Only merge test code"),
    ("You may use mocks", "You must use mocks"), ("Use A or B", "Use A and B"), ("Push unless CI is red", "Push if CI is red"),
    ("Run with coverage", "Run without coverage"), ("Use pnpm", "Use pnpm in the web folder"),
    ("Copy from staging", "Copy to staging"), ("Prefer vim over vi", "Prefer vi over vim"), ("We used npm", "We use npm"),
    ("Merge X into Y", "Merge Y into X"), ("At least two reviews", "At most two reviews"),
    ("Run tests before every release", "Run tests before every major release"), ("Ask Ana first", "Ask Ben first"),
    ("Squash, never rebase", "Rebase, never squash"), ("Always ask first", "Never ask first"),
    ("Keep the API stable", "Keep the API unstable"), ("Use sync clients", "Use async clients"),
)  # fmt: skip


def twins() -> Iterator[tuple[str, str, str]]:
    """Yield kind and two sentences that differ in one thing that matters."""
    kinds = {
        "number": (_NUMBER_FRAMES, _NUMBERS), "version": (_VERSION_FRAMES, _VERSIONS), "path": (_PATH_FRAMES, _PATHS),
        "unit": (_UNIT_FRAMES, _UNITS), "name": (_NAME_FRAMES, _NAMES),
    }  # fmt: skip
    for kind, (frames, pairs) in kinds.items():
        for frame, (one, other) in product(frames, pairs):
            yield kind, frame.format(one), frame.format(other)
    for said in _SAID:
        for yes, no in product(
            ("", "Always ", "Please ", "We should "), ("Never ", "Do not ", "Don't ", "Please don't ", "You must not ")
        ):
            yield "negation", yes + said, no + said
    for one, other in _OPPOSED:
        yield "opposed", one, other
    for one, other in combinations(_SAID, 2):
        yield "other", f"Always {one}", f"Always {other}"


def paraphrases() -> Iterator[tuple[str, str]]:
    """Yield two sentences that surely say the same."""
    tools = (("pnpm", "npm"), ("uv", "pip"), ("vitest", "jest"), ("ruff", "flake8"), ("tabs", "spaces"))
    for a, b in tools:
        forms = (
            f"Use {a}, not {b}", f"We use {a} instead of {b} here", f"use {a} rather than {b}.", f"Don't use {b}, use {a}",
            f"Please always use {a} instead of {b} in this repository", f"I prefer {a} over {b}", f"Never use {b}, use {a}",
            f"From now on use {a}, never {b}", f"{a}, not {b}", f"Remember: use {a} and not {b}", f"Do not use {b}. Use {a}!",
        )  # fmt: skip
        yield from combinations(forms, 2)
    for said in _SAID:
        no = (
            f"Never {said}",
            f"Don't {said}",
            f"do not {said}.",
            f"Please never {said} in this project",
            f"You must not {said}",
        )
        yield from combinations(no, 2)
        yes = (
            f"Always {said}",
            f"please {said}",
            f"You should always {said} here",
            f"{said.capitalize()}!",
            f"We must {said}",
        )
        yield from combinations(yes, 2)
    for frame, values in ((_NUMBER_FRAMES, _NUMBERS), (_VERSION_FRAMES, _VERSIONS), (_PATH_FRAMES, _PATHS)):
        for text, pair in product(frame, values):
            said = text.format(pair[0])
            yield said, f"Remember that {said[0].lower()}{said[1:]}."
            yield said, f"{said} in this repo"
    yield from (
        ("Requests time out after 30 seconds", "Requests time out after 30s"),
        ("Avoid using default exports", "Don't use default exports"),
        ("Run the test suite before each commit", "Run tests before every commit"),
        ("Open a pull request for each change", "Open a PR for every change"),
        ("Make sure the build passes", "Ensure that the build passes"),
        ("A batch has 1,000 records", "A batch has 1000 records"),
        ("Keep docs in the docs directory", "Keep docs in the docs folder"),
        ("No longer use moment", "Stop using moment"),
    )


# one statement of a slot, another of the same slot with another answer
CONTRADICTIONS = (
    ("Use pnpm", "Use yarn"), ("Use pnpm, not npm", "Use npm, not pnpm"), ("Run the tests with `make test`", "Use `tox` to run the tests"),
    ("The API listens on port 8080", "The API listens on port 9090"), ("Config lives in app/settings.py", "The config is in conf/app.toml"),
    ("We support Python 3.9", "We support Python 3.12"), ("Use tabs", "Do not use tabs"), ("Always squash commits", "Never squash commits"),
    ("Requests time out after 30 s", "Requests time out after 60 s"), ("Put migrations in db/migrations", "Migrations go into db/changes"),
    ("Builds are made with `make`", "Builds are made with `just build`"), ("The timeout is 5 minutes", "The timeout is 10 minutes"),
    ("Keep lines below 80 characters", "Keep lines below 120 characters"), ("Use vitest instead of jest", "Use jest instead of vitest"),
)  # fmt: skip
# they look alike, and both may hold
COMPATIBLE = (
    ("Use pnpm in the web folder", "Use npm in the docs folder"), ("Service 3 listens on port 80", "Service 4 listens on port 81"),
    ("Run the unit tests with `make unit`", "Run the e2e tests with `make e2e`"), ("The API listens on port 8080", "The UI listens on port 9090"),
    ("Never edit folder1 by hand", "Never edit folder9 by hand"), ("Config lives in app/settings.py", "Secrets live in app/secrets.py"),
    ("Use mocks for the mailer", "Use fakes for the clock"), ("Always squash commits", "Never squash merges"),
    ("Keep secrets out of config.yml", "Keep secrets out of app.yml"), ("Step 1 takes 5 minutes", "Step 2 takes 9 minutes"),
    ("Ana owns the ledger", "Ben owns the mailer"), ("Use black for Python", "Use prettier for TypeScript"),
)  # fmt: skip
