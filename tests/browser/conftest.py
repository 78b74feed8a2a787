"""One installation for the session, one Chromium per module, one context per test.

Playwright's loop runs in the thread that uses it: it ends with the module, so that tests of
other folders find none.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser.console import Console, Watch
from tests.support.chromium import find_chromium, is_chromium_required, launch_chromium
from tests.support.installation import installation
from tests.support.smtp_sink import SmtpSink, smtp_server

HERE = Path(__file__).parent
#: Long enough for a machine whose cores are all busy; no test waits for it to pass.
PATIENCE_MS = 90_000


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tell the story first: it begins on an installation that nobody has used."""
    places = [place for place, item in enumerate(items) if item.path.is_relative_to(HERE)]
    ours = sorted((items[place] for place in places), key=_is_not_the_story)
    for place, item in zip(places, ours, strict=True):
        items[place] = item


def _is_not_the_story(item: pytest.Item) -> bool:
    return item.path.name != "test_story.py"


@pytest.fixture(scope="session")
def chromium_path() -> str:
    found = find_chromium()
    if found is None and is_chromium_required():
        pytest.fail("no Chromium is installed, and PUNCTUAL_BROWSER or CI wants it")
    if found is None:
        pytest.skip("no Chromium is installed: apt-get install chromium")
    return found


@pytest.fixture(scope="session")
def console(chromium_path: str) -> Iterator[Console]:
    # Short, and reachable for the account that the servers run under when started by root.
    with tempfile.TemporaryDirectory(prefix="punctual-web-") as directory:
        Path(directory).chmod(0o755)
        sink = SmtpSink()
        with smtp_server(sink) as port, installation(Path(directory) / "var") as made:
            made.start(EMAIL_URL=f"smtp://127.0.0.1:{port}")
            yield Console(made, sink)
            made.stop()


@pytest.fixture(scope="module")
def browser(chromium_path: str) -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        launched = launch_chromium(playwright, chromium_path)
        yield launched
        launched.close()


@pytest.fixture
def watch(console: Console) -> Iterator[Watch]:
    """Watch the tabs of this test; at its end they must have done nothing wrong."""
    watched = Watch(f"127.0.0.1:{console.punctual.port}")
    yield watched
    assert not watched.foreign
    assert not watched.errors


@pytest.fixture
def new_context(browser: Browser, console: Console) -> Iterator[Callable[..., BrowserContext]]:
    """Open contexts of the browser; they end with the test."""
    opened: list[BrowserContext] = []

    def open_context(**options: Any) -> BrowserContext:
        context = browser.new_context(
            **{
                "base_url": console.base,
                "viewport": {"width": 1280, "height": 900},
                "timezone_id": "Europe/Berlin",
                **options,
            }
        )
        context.set_default_timeout(PATIENCE_MS)
        opened.append(context)
        return context

    yield open_context
    for context in opened:
        context.close()


@pytest.fixture
def stranger(new_context: Callable[..., BrowserContext], watch: Watch) -> Page:
    """Return a tab that is not signed in."""
    page = new_context().new_page()
    watch.attend(page)
    return page


@pytest.fixture
def page(new_context: Callable[..., BrowserContext], console: Console, watch: Watch) -> Page:
    """Return a tab of somebody who is signed in."""
    context = new_context()
    console.sign_in(context)
    made = context.new_page()
    watch.attend(made)
    return made
