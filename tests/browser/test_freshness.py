"""Pages say how old their data are, and say so loudly when nothing newer can be read."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.console import Console, Watch

BANNER = "#stale"


@pytest.fixture
def frozen_database(console: Console) -> Iterator[list[int]]:
    """Return a list of process ids to stop; all of them go on at the end."""
    stopped: list[int] = []
    yield stopped
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)


def _freeze(console: Console, stopped: list[int]) -> None:
    """Stop PostgreSQL and all of its processes where they are, as a frozen disk does."""
    main = console.pid_of("postgresql") or console.pid_of("postgres")
    assert main
    for pid in [main, *_children_of(main)]:
        os.kill(pid, signal.SIGSTOP)
        stopped.append(pid)


def _children_of(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children") as listed:
        return [int(one) for one in listed.read().split()]


@pytest.mark.parametrize(
    "path",
    ["/", *(pytest.param(path, marks=pytest.mark.slow) for path in ("/executions", "/tasks/new"))],
)
def test_a_page_that_cannot_be_read_again_says_so_and_how_old_its_data_are(
    console: Console, page: Page, watch: Watch, frozen_database: list[int], path: str
) -> None:
    watch.servers_go_away = True
    page.goto(path)
    expect(page.locator("#live-text")).to_have_text("live")
    expect(page.locator(BANNER)).to_be_hidden()

    _freeze(console, frozen_database)

    expect(page.locator("#live-text")).to_have_text(re.compile(r"stale, \d+ s old"))
    expect(page.locator(BANNER)).to_contain_text("cannot reach its database")
    expect(page.locator(BANNER)).to_contain_text(re.compile(r"\d+ s old"))
    expect(page.locator("#live")).to_have_attribute("aria-label", re.compile(r"stale, data \d+ s"))
    while frozen_database:
        os.kill(frozen_database.pop(), signal.SIGCONT)
    expect(page.locator(BANNER)).to_be_hidden()
    expect(page.locator("#live-text")).to_have_text("live")


def test_an_answer_that_never_comes_is_as_stale_as_an_error(page: Page, watch: Watch) -> None:
    watch.servers_go_away = True
    page.goto("/executions")
    expect(page.locator("#live-text")).to_have_text("live")

    # Held open for good: what a frozen proxy does.
    page.route("**/executions", lambda route: None)

    expect(page.locator(BANNER)).to_contain_text("The server does not answer.")
    expect(page.locator("#live-text")).to_contain_text("stale")


def test_what_comes_next_is_never_said_to_be_past_while_nothing_is_read(
    console: Console, page: Page, watch: Watch
) -> None:
    watch.servers_go_away = True
    console.create_task("Fires soon", "/ok", schedule={"every": "PT1H"})
    page.clock.install()
    page.goto("/")
    # Of this task: the page may have been read a moment before it was there.
    row = page.locator("#next-fires li").filter(has_text="Fires soon")
    next_fire = row.locator("time[data-ago]").first
    expect(next_fire).to_contain_text("in ")
    page.route("**/*", lambda route: route.abort())

    page.clock.run_for(4_000_000)

    expect(next_fire).to_have_text("now")
    expect(page.locator(BANNER)).to_be_visible()


def test_a_hidden_tab_reads_nothing_and_everything_once_when_it_is_shown(page: Page) -> None:
    page.clock.install()
    page.goto("/executions")
    expect(page.locator("#live-text")).to_have_text("live")
    page.evaluate(
        """() => {
          window.reads = [];
          const fetched = window.fetch;
          window.fetch = (...asked) => {
            window.reads.push(String(asked[0]));
            return fetched(...asked);
          };
          window.isHidden = true;
          Object.defineProperty(document, "hidden", { get: () => window.isHidden });
        }"""
    )

    page.clock.run_for(60_000)

    assert page.evaluate("window.reads") == []
    with page.expect_response("**/executions"):
        page.evaluate(
            """() => {
              window.isHidden = false;
              document.dispatchEvent(new Event("visibilitychange"));
            }"""
        )
    assert page.evaluate("window.reads.filter((url) => url === location.href).length") == 1


def test_waits_after_failures_double_up_to_the_longest_and_half_of_each_is_chance(
    stranger: Page,
) -> None:
    stranger.goto("/login")

    waits = stranger.evaluate(
        """async () => {
          const { waitAfter } = await import("/static/js/backoff.js");
          const least = [1, 2, 3, 4, 9].map((failures) => waitAfter(failures, 4000, 30000, 0));
          const most = [1, 2, 3, 4, 9].map((failures) => waitAfter(failures, 4000, 30000, 1));
          return { least, most };
        }"""
    )

    assert waits["most"] == [4000, 8000, 16000, 30000, 30000]
    assert waits["least"] == [one / 2 for one in waits["most"]]


def test_a_server_that_greets_and_closes_is_asked_more_and_more_seldom(stranger: Page) -> None:
    stranger.goto("/login")

    found = stranger.evaluate(
        """async () => {
          const made = [], waits = [];
          let now = Date.now(), next = null;
          window.WebSocket = class extends EventTarget {
            static OPEN = 1;
            readyState = 0;
            constructor() { super(); made.push(this); }
            close() { this.isClosed = true; }
          };
          Date.now = () => now;
          Math.random = () => 1;
          window.setInterval = () => 0;
          window.setTimeout = (act, wait) => { waits.push(wait); next = act; return 1; };
          const { Socket } = await import("/static/js/socket.js");
          const socket = new Socket("/ws/live", { onMessage() {}, onState() {} });
          for (const lasted of [10, 10, 10, 60000]) {
            made.at(-1).dispatchEvent(new MessageEvent("message", { data: '{"topic":"hello"}' }));
            now += lasted;
            made.at(-1).dispatchEvent(new CloseEvent("close", { code: 1012 }));
            next();
          }
          socket.again();
          next();
          return { waits, open: made.slice(-2).map((one) => !one.isClosed) };
        }"""
    )

    assert found["waits"] == [1000, 2000, 4000, 1000, 0]
    # One that is still connecting does not stay beside its successor.
    assert found["open"] == [False, True]
