"""Shows a page of the world and judges every number on it."""

from __future__ import annotations

from collections.abc import Iterator

from django.test import Client

from executions.loop.clocks import database_now
from tenants.models import Tenant
from tests.recount import history
from tests.recount.page import Number, Page, read
from tests.recount.pictures import PICTURES
from tests.recount.recounts import MOVING, RECOUNTS, World
from tests.recount.world import minute_of


def shown(browser: Client, path: str, tenant: Tenant, page_of: str = "") -> tuple[World, Page]:
    """Return the page, shown within one minute of the database's clock, and its world."""
    while True:
        at = database_now()
        answer = browser.get(path)
        assert answer.status_code == 200
        if minute_of(database_now()) == minute_of(at):
            return World(tenant, at, page_of), read(answer.text)


def judge(world: World, page: Page, span: tuple[int, str] = (6, "minute")) -> None:
    """Fail, naming each number of the page that is not as it should be."""
    found = list(problems(world, page, span))
    assert not found, f"{world.tenant.name}:\n" + "\n".join(found)
    assert page.numbers


def problems(world: World, page: Page, span: tuple[int, str]) -> Iterator[str]:
    """Yield every number that is wrong, that has no recount, and that has no name.

    ``span`` is that of a history: its hours, and whether by minute or by hour.
    """
    yield from (f"has no name: {stray}" for stray in page.strays)
    for number in page.numbers:
        if number.name in PICTURES:
            found = PICTURES[number.name](world, number.node)
            yield from (f"{number.name} {problem}" for problem in found)
        elif number.name in MOVING:
            yield from _moving(world, number)
        elif number.name.startswith("history."):
            yield from history.wrong(world, number, *span)
        elif number.name not in RECOUNTS:
            yield f"{number.name}: {number.text!r} has no recount"
        else:
            right = RECOUNTS[number.name](world, number.row)
            if _text(number) != right:
                where = f" of {number.row}" if number.row else ""
                yield f"{number.name}{where}: {_text(number)!r} where {right!r} is right"


def _text(number: Number) -> str:
    """Return what the number says; of a drawing, what it is called."""
    return number.node.attributes.get("aria-label") or number.text


def _moving(world: World, number: Number) -> Iterator[str]:
    """Judge how long ago something was: between what it was before the page, and what it is now."""
    text = number.text.removesuffix(" s ago")
    rounding = 0.6 / 10 ** len(text.partition(".")[2])
    since = MOVING[number.name](world, number.row)
    before = world.at.timestamp() - since
    now = database_now().timestamp() - since
    if not before - rounding <= float(text) <= now + rounding:
        yield f"{number.name}: {text} is not between {before} and {now}"
