"""A second set of planted timelines, by another author: its wordings, calls and habits were not looked at in the code.

Nothing is fitted to it: what it shows to be wrong is mended in the mechanism, and never by a word of these sentences.
"""

from tests.quality.timelines import Wish

_MANAGERS = (("pnpm", "npm"), ("yarn", "npm"), ("bun", "npm"), ("npm", "yarn"))
_CALLS = (
    ("poetry run mypy", "mypy"), ("podman build", "docker build"), ("fd", "find"), ("hatch run lint", "ruff check"),
    ("bundle exec rspec", "rspec"), ("./gradlew test", "gradle test"), ("mix test.unit", "mix test"),
    ("task db:migrate", "dbmate up"),
)  # fmt: skip
_OPTIONS = (
    ("git push --force-with-lease", "git push -f", "git push", "-f"),
    ("git rebase main", "git rebase -i main", "git rebase", "-i"),
    ("pip install requests", "pip install --user requests", "pip install", "--user"),
    ("kubectl apply -k deploy", "kubectl apply --prune -k deploy", "kubectl apply", "--prune"),
    ("npm audit fix", "npm audit fix --force", "npm audit fix", "--force"),
)
_FOLDERS = (
    ("openapi.yaml", "clients/typescript"), ("schema.graphql", "src/__generated__"), ("fixtures/seed.json", "dist"),
    ("templates/base.j2", "build/html"), ("contracts/order.avsc", "target/avro"),
)  # fmt: skip
_STEPS = (
    ("rails test", "rails db:test:prepare"), ("pytest tests/api", "docker compose up -d redis"),
    ("npm run e2e", "npx playwright install"), ("mvn verify", "make keystore"), ("dbt run", "dbt deps"),
)  # fmt: skip
_WAYS = (
    ("node server.js", "node --env-file=.env server.js"), ("python manage.py test", "python manage.py test --keepdb"),
    ("swift test", "swift test --no-parallel"), ("cargo build", "cargo build --locked"),
    ("flutter build apk", "flutter build apk --no-shrink"),
)  # fmt: skip
_CHECKS = (
    ("go vet ./...", "go test ./..."), ("pnpm lint", "pnpm test"), ("black --check .", "pytest"),
    ("mix format --check-formatted", "mix test"), ("./gradlew check", "./gradlew test"),
)  # fmt: skip
_AFTER = (
    ("Gemfile", "bundle lock"), ("schema.graphql", "npm run codegen"), ("models/user.py", "alembic revision"),
    ("config/routes.rb", "rails routes"), ("Cargo.toml", "cargo update --workspace"),
)  # fmt: skip
_TESTS = (
    ("bin/test", "rspec"), ("make check", "go test ./..."), ("uv run pytest", "pytest"),
    ("docker compose run app test", "phpunit"), ("npx vitest run", "npm test"),
)  # fmt: skip

SECOND: tuple[Wish, ...] = (
    Wish(
        "package manager",
        (
            "this repo is on {a}, please no {b}", "We moved from {b} to {a}", "{a} only, never {b} in this project",
            "Everything goes through `{a}`; `{b}` breaks the lockfile", "Hier wird {a} benutzt, nicht {b}",
            "please use {a} and not {b} for installing things", "On utilise {a} ici, pas {b}",
        ),
        _MANAGERS, ("{a} add left-pad",), ("cd web && {b} install",),
    ),
    Wish(
        "one call, not another",
        (
            "Use `{a}`, don't use plain `{b}`", "Always go through `{a}`, not `{b}`", "`{a}` instead of `{b}`, please",
            "It has to be `{a}`, `{b}` picks up the wrong environment", "Bitte nie `{b}`, immer `{a}`",
            "do not run `{b}` here, `{a}` is the one that works", "Nunca uses `{b}`; usa `{a}`",
        ),
        _CALLS, ("{a} lib",), ("{b} lib",),
    ),
    Wish(
        "a refused option",
        (
            "Never `{c} {d}`", "Don't ever run `{c} {d}` in this repository", "`{d}` is not allowed with `{c}`",
            "no `{d}` please", "We do not use `{c} {d}`", "Auf keinen Fall `{c} {d}` ausführen",
        ),
        _OPTIONS, ("{a}",), ("{b}",),
    ),
    Wish(
        "a refused path",
        (
            "Do not edit anything in `{b}/`, it comes out of `{a}`", "`{b}/` is generated: never change it by hand",
            "Never touch `{b}/`. The source is `{a}`.", "Hands off `{b}/`; edit `{a}` and regenerate",
            "Don't modify `{b}/` directly, modify `{a}`", "Ne modifie jamais `{b}/`, modifie `{a}`",
        ),
        _FOLDERS, ("Edit {a}",), ("Edit {b}/index.txt",),
    ),
    Wish(
        "a cure: another way",
        ("`{a}` fails; `{b}` works", "`{a}` fails (TypeError); `{b}` works", "`{a}` fails (EACCES); `{b}` works"),
        _WAYS, ("cd app && {b}",), ("! {a}", "{b}"),
    ),
    Wish(
        "a cure: a step before",
        ("`{a}` fails until `{b}` was run", "`{a}` fails (LoadError) until `{b}` was run"),
        _STEPS, ("{b}", "{a}"), ("! {a}", "{b}", "{a}"),
    ),
    Wish(
        "before a commit",
        (
            "Before you commit, run `{a}` and `{b}`", "run `{a}` + `{b}` before each commit",
            "No commit without `{a}` and `{b}` being green", "Every commit must be preceded by `{a}` and `{b}`",
            "Bitte vor dem Commit immer `{a}` und `{b}` laufen lassen", "Run both `{a}` and `{b}` prior to committing",
        ),
        _CHECKS, ("Edit lib/core.rb", "{a}", "{b}", "git commit -m 'Mend it'"),
        ("Edit lib/core.rb", "{b}", "git add -A && git commit -m 'Mend it'"),
    ),
    Wish(
        "after a change",
        (
            "If you change `{a}`, run `{b}` afterwards", "Whenever `{a}` is edited `{b}` has to be run",
            "`{b}` must be run after each change of `{a}`", "Wenn du `{a}` änderst, führe danach `{b}` aus",
            "Run `{b}` once `{a}` was touched", "After editing `{a}` always do `{b}`",
        ),
        _AFTER, ("Edit {a}", "{b}"), ("Edit {a}", "git status"),
    ),
    Wish(
        "how tests are run",
        (
            "Tests run with `{a}`", "To run the tests, call `{a}`", "`{a}` runs the tests",
            "The test suite is started with `{a}`", "please always use `{a}` for tests", "Die Tests laufen mit `{a}`",
        ),
        _TESTS, ("{a}",), ("{b}",),
    ),
)  # fmt: skip
