"""A number that is a link opens a list of as many rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import parse_qs, urljoin, urlsplit

import pytest
from django.test import Client

from tests.recount.checking import shown
from tests.recount.page import Node, Number, Page, read
from tests.recount.world import BUSY, CALM, QUIET, ask
from tests.support.recounting import recounts

#: Its world takes seconds to make, for each test.
pytestmark = pytest.mark.slow

#: What a list calls the number of its rows.
_TOTALS = ("executions.total", "letters.total", "tasks.total")


#: Numbers of the overview within links that count no rows: an age, a percentile; pauses are no
#: tasks.
_NO_COUNTS = ("overview.oldest_due_seconds", "overview.p95", "overview.standing_pauses")


class Opened(NamedTuple):
    """A number that is a link, and the list behind it."""

    number: Number
    href: str
    rows: int


def opened(browser: Client, path: str, page: Page) -> Iterator[Opened]:
    """Yield the numbers of the page that are links, each with the rows of what it opens."""
    for number in page.numbers:
        links = [node for node in number.node.up() if node.tag == "a"]
        links += [node for node in number.node.down() if node.tag == "a"]
        if links:
            href = urljoin(path, links[0].attributes["href"])
            answer = browser.get(href.partition("#")[0])
            assert answer.status_code == 200
            yield Opened(number, href, _rows(read(answer.text), href.partition("#")[2]))


def _rows(page: Page, part: str) -> int:
    """Return how many rows the list has; that of a part of the page, or that it says of itself."""
    totals = [number for name in _TOTALS for number in page.of(name)]
    if totals and not part:
        return int(totals[0].text)
    lists = [node for node in page.root.down() if not part or node.attributes.get("id") == part]
    return len({row for row in map(_row_of, _all(lists[0])) if row})


def _all(node: Node) -> Iterator[Node]:
    main = next((one for one in node.down() if one.tag == "main"), node)
    yield from main.down()


def _row_of(node: Node) -> str | None:
    return node.attributes.get("data-row") if node.tag in ("tr", "li") else None


def _asked(href: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(href).query)


def _count(number: Number) -> int:
    return int(number.text.split()[0])


def _check(found: list[Opened]) -> None:
    wrong = [
        f"{one.number.name} of {one.number.row} says {one.number.text}, {one.href} has {one.rows}"
        for one in found
        if _count(one.number) != one.rows
    ]
    assert not wrong, "\n".join(wrong)


def test_every_linked_number_of_the_overview_opens_as_many_rows(each):
    for tenant, browser in each:
        _, page = shown(browser, "/", tenant)
        found = [one for one in opened(browser, "/", page) if one.number.name not in _NO_COUNTS]

        assert {one.number.name.partition(".")[2] for one in found} >= {
            *("due_now", "running", "retrying", "late", "failed_last_hour"),
            *("dead_letters_open", "paused_tasks"),
        }
        _check(found)


def test_every_linked_number_of_the_destinations_opens_as_many_rows(each):
    for tenant, browser in each:
        _, page = shown(browser, "/destinations", tenant)
        found = list(opened(browser, "/destinations", page))

        rows = {(one.number.row, one.number.name.partition(".")[2]) for one in found}
        for host in (BUSY, CALM, QUIET):
            assert rows >= {(host, "in_flight"), (host, "parked"), (host, "tasks")}
        _check(found)


def test_a_cause_opens_as_many_letters_as_it_counts_however_the_page_is_filtered(each):
    for tenant, browser in each:
        [[task]] = ask(
            "SELECT task_id::text FROM dead_letters WHERE tenant_id = %s AND error_code"
            " = 'http_status' ORDER BY id LIMIT 1",
            tenant.pk,
        )
        for path in ("/dead-letters", "/dead-letters?q=otherwise", f"/dead-letters?task={task}"):
            _, page = shown(browser, path, tenant)
            counts = page.of("cause.count")
            assert counts
            for number in counts:
                # Its words may be those of another cause, too; its signature is its own.
                [href] = [
                    node.attributes["href"]
                    for node in page.root.down()
                    if node.tag == "a" and "data-identity" in node.attributes
                    if _asked(node.attributes["href"]).get("error_signature") == [number.row]
                ]
                answer = browser.get(urljoin(path, href))
                [total] = read(answer.text).of("letters.total")
                assert total.text == number.text


@recounts("list.of_state")
def test_the_states_beside_a_filter_count_their_rows(each):
    for tenant, browser in each:
        for query, condition in (("", "true"), ("&filter=http:5xx", "response_status >= 500")):
            answer = browser.get(f"/executions?window=any{query}")

            told = {chip.value: chip.count for chip in answer.context["statuses"] if chip.count}
            right = dict(
                ask(
                    "SELECT status, count(*) FROM executions WHERE tenant_id = %s"
                    f" AND span_count IS NULL AND {condition} GROUP BY status",
                    tenant.pk,
                )
            )
            assert told == right != {}
