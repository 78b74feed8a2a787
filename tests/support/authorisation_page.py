"""The reference page of who is answered what, from the tables that the tests of access go through.

``python -m tests.support.authorisation_page > docs/reference/authorisation.md`` writes it again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

_HEAD = """# Authorisation

Who is answered what, at every door: calls, pages, the admin, the live socket and commands. Written
from the tables that the tests in `tests/access` go through; a test holds this page to them, and a
new operation without its cells fails. Each cell is tried with a tenant that has a row of
everything, and a refusal is compared with all its rows: nothing changed.

An object of another tenant is answered as one that does not exist: with 404, the same words, and
as many statements of the database (`tests/access/test_foreign_is_unknown.py`).
"""
_CALLS = """Cells: `yes` is any success, for a foreign caller with the rows of its own tenant; 401
without a valid credential, 403 without the right, 404 for objects of another tenant. 400 is given
where a filter matches nothing of the caller's own tenant. Methods that a path does not name are 405
for every caller; `HEAD` is answered as `GET`, without a body.
"""
_PAGES = """Cells: `taken` is the page, or the form judged; `login` leads to the login, `enrol` to
the page of the second factor; 404 is also the message of a form that there is no such object; 405
is a form's address that is read; `empty` is a list of nothing, for what a page asks by itself.
"""
_ADMIN = """The deployment's own pages, with `taken` and the others as above. Most models have no
form: services write their rows.
"""
_TOKENS = """A receiver or a pull worker reports about one execution, by the token that it was
handed.
"""
_SCRAPES = """The operator's door: it shows the whole installation, and no right of a tenant opens
it.
"""
_COMMANDS = """Commands ask for no credential: a shell of the deployment's account may run all of
them, and the audit log names the operating system's user. `--tenant` bounds what a command reads
and changes.
"""


@dataclass(frozen=True)
class Part:
    """A table: what is asked, by whom, and the answer."""

    title: str
    text: str
    #: What the rows are.
    rows: Sequence[str]
    kinds: Sequence[str]
    answer: Callable[[int, str], str]
    head: str = "Call"

    @property
    def cells(self) -> int:
        """Return how many answers the part has."""
        return len(self.rows) * len(self.kinds)

    def columns(self) -> list[tuple[list[str], list[str]]]:
        """Return the kinds that are answered alike in every row, with their answers."""
        found: dict[tuple[str, ...], list[str]] = {}
        for kind in self.kinds:
            answers = tuple(self.answer(number, kind) for number in range(len(self.rows)))
            found.setdefault(answers, []).append(kind)
        return [(kinds, list(answers)) for answers, kinds in found.items()]


def parts() -> list[Part]:
    """Return the parts of the page."""
    return [
        *(_calls(), _own_tokens(), _routes(), _scrapes()),
        *(_console(), _admin(), _sessions(), _tickets()),
    ]


def page() -> str:
    """Return the page."""
    listed = parts()
    total = sum(part.cells for part in listed)
    rows = [
        f"| {part.title} | {len(part.rows)} | {len(part.kinds)} | {part.cells:,} |"
        for part in listed
    ]
    counts = [
        "| Door | Operations | Kinds of callers | Cells |",
        "|---|---|---|---|",
        *rows,
        f"| all | {sum(len(part.rows) for part in listed)} | | {total:,} |",
        "",
    ]
    sections = [line for part in listed for line in _section(part)]
    return "\n".join([_HEAD, *counts, *sections, *_commands()])


def _section(part: Part) -> Iterator[str]:
    columns = part.columns()
    names = ascii_uppercase[: len(columns)]
    yield f"## {part.title}\n"
    yield part.text
    yield "| Column | Callers |"
    yield "|---|---|"
    for name, (kinds, _) in zip(names, columns, strict=True):
        yield f"| {name} | {'; '.join(kinds)} |"
    yield ""
    yield f"| {part.head} | {' | '.join(names)} |"
    yield "|---" * (len(columns) + 1) + "|"
    for number, row in enumerate(part.rows):
        yield f"| {row} | {' | '.join(answers[number] for _, answers in columns)} |"
    yield ""


def _calls() -> Part:
    from tests.access.operations import OPERATIONS
    from tests.access.rights import CREDENTIALS

    def answer(number: int, kind: str) -> str:
        status = OPERATIONS[number].answer(CREDENTIALS[kind])
        return "yes" if status == 200 else str(status)

    calls = [one.call for one in OPERATIONS]
    rows = [_named(one.call, one.body if calls.count(one.call) > 1 else {}) for one in OPERATIONS]
    return Part("Calls of the API", _CALLS, rows, list(CREDENTIALS), answer)


def _named(call: str, body: Any) -> str:
    """Return the call, with what its body says where the same call stands there twice."""
    said = [
        f"{name}={value}" if isinstance(value, str | int) else name
        for name, value in (body or {}).items()
    ]
    return f"`{call}`" + (f" with `{', '.join(said)}`" if said else "")


def _own_tokens() -> Part:
    from tests.access.operations import BY_TOKEN
    from tests.access.rights import CREDENTIALS, OWN_TOKEN

    kinds = [*CREDENTIALS, "the token of another execution"]
    rows = [f"`{one.call}`" for one in BY_TOKEN]
    return Part(
        "Calls about one execution",
        _TOKENS,
        rows,
        kinds,
        lambda _, kind: "yes" if kind == OWN_TOKEN else "401",
    )


def _routes() -> Part:
    from tests.access.open_routes import ROUTES

    listed = list(ROUTES.values())
    kinds = {"anybody": "anybody", "person": "a person who is signed in", "key": "a key"}
    fields = {text: name for name, text in kinds.items()}
    return Part(
        "Routes without a tenant",
        "",
        [f"`{one.path}` ({one.why})" for one in listed],
        list(fields),
        lambda number, kind: str(getattr(listed[number], fields[kind])),
        head="Route",
    )


def _scrapes() -> Part:
    from tests.access.scrape_rights import SCRAPERS, SETTINGS, answer

    settings = list(SETTINGS)
    return Part(
        "Scrapes of /metrics",
        _SCRAPES,
        settings,
        SCRAPERS,
        lambda number, kind: str(answer(settings[number], kind)),
        head="Set",
    )


def _console() -> Part:
    from tests.access.console_rights import ALL, METHODS, VISITORS, answer

    asked = [(route, method) for route in ALL for method in METHODS]
    return Part(
        "Pages and forms of the console",
        _PAGES,
        [f"`{method} /{route}`" for route, method in asked],
        list(VISITORS),
        lambda number, kind: answer(*asked[number], VISITORS[kind]),
        head="Page or form",
    )


def _admin() -> Part:
    from django.contrib import admin

    from tests.access.admin_rights import PAGES, VISITORS, answer

    models = sorted(str(model._meta.label) for model in admin.site._registry)
    asked = [
        (model, page, method)
        for model in models
        for page, methods in PAGES.items()
        for method in methods
        if page != "password_change" or model == "auth.User"
    ]
    return Part(
        "Pages of the admin",
        _ADMIN,
        [f"{model}: `{method} {page}`" for model, page, method in asked],
        list(VISITORS),
        lambda number, kind: answer(*asked[number], VISITORS[kind]),
        head="Page",
    )


def _sessions() -> Part:
    from tests.access.socket_rights import SAID, SESSIONS

    text = "Whether a browser hears what is said about the tenant; 4401 closes the socket.\n"
    return _socket("Topics of the live socket, by session", text, SAID, SESSIONS)


def _tickets() -> Part:
    from tests.access.rights import CREDENTIALS
    from tests.access.socket_rights import SAID, TICKETS, by_ticket

    text = "Whether a program hears what is said about the tenant.\n"
    answers = {**TICKETS, **{kind: by_ticket(kind) for kind in CREDENTIALS}}
    return _socket("Topics of the live socket, by ticket", text, SAID, answers)


def _socket(title: str, text: str, said: Sequence[str], answers: Mapping[str, str]) -> Part:
    rows = [f"`{one}`" for one in said]
    return Part(title, text, rows, list(answers), lambda _, kind: answers[kind], head="Topic")


def _commands() -> Iterator[str]:
    from tests.access.command_words import BY_ID, OF_INSTALLATION, WORDS

    yield "## Commands\n"
    yield _COMMANDS
    yield "| Reaches | Commands |"
    yield "|---|---|"
    told = ", ".join(f"`{one}`" for one in WORDS)
    yield f"| the tenant of `--tenant` ({len(WORDS)}) | {told} |"
    by_id = ", ".join(f"`{one}`" for one in BY_ID)
    yield f"| the object of an id ({len(BY_ID)}) | {by_id} |"
    rest = ", ".join(f"`{one}`" for one in OF_INSTALLATION)
    yield f"| the installation ({len(OF_INSTALLATION)}) | {rest} |"
    yield ""


if __name__ == "__main__":
    import sys

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_site.settings_test")
    django.setup()
    sys.stdout.write(page())
