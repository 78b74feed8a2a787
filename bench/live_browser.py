"""A tab of a real Chromium that shows a task: when a change of its state is on the screen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from playwright.async_api import Error, Page, async_playwright, expect

from bench.installation import InstallationError

#: Longer than a tab rests at most after an answer, and the time that a server has for one.
PATIENCE_MS = 30_000
#: Keeps a promise of the moment at which the frame with the state is drawn.
_AWAIT_STATE = """(wanted) => {
  const state = () => document.querySelector("header.page-head .state").textContent.trim();
  window.drawn = new Promise((resolve) => {
    const watch = new MutationObserver(look);
    function look() {
      if (state() !== wanted) return;
      watch.disconnect();
      requestAnimationFrame(() => resolve(Date.now()));
    }
    watch.observe(document.body, { subtree: true, childList: true, characterData: true });
    look();
  });
}"""


class BrowserTab:
    """The page of a task, open and live."""

    def __init__(self, page: Page) -> None:
        self._page = page

    async def expect_state(self, state: str) -> None:
        """Watch for the badge of the task to show this state, which it does not yet."""
        await self._page.evaluate(_AWAIT_STATE, state)

    async def drawn_ms(self) -> float | None:
        """Return when it was drawn, in milliseconds of the host's clock; None if it never was."""
        try:
            async with asyncio.timeout(PATIENCE_MS / 1000):
                return float(await self._page.evaluate("window.drawn"))
        except TimeoutError:
            return None


@asynccontextmanager
async def browser_tab(url: str, session: str, path: str) -> AsyncIterator[BrowserTab]:
    """Open the page in the Chromium of this machine; InstallationError where there is none."""
    from tests.support.chromium import find_chromium, flags

    chromium = find_chromium()
    if chromium is None:
        raise InstallationError("no Chromium is installed: apt-get install chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=flags())
        try:
            context = await browser.new_context(base_url=url)
            cookie = {"name": "sessionid", "value": session, "domain": urlsplit(url).hostname}
            await context.add_cookies([{**cookie, "path": "/"}])  # type: ignore[typeddict-item]  # all are strings
            page = await context.new_page()
            page.set_default_timeout(PATIENCE_MS)
            await page.goto(path)
            live = page.locator("#live")
            await expect(live).to_have_attribute("data-state", "live", timeout=PATIENCE_MS)
            yield BrowserTab(page)
        except Error as error:
            raise InstallationError(f"the browser: {error}") from error
        finally:
            await browser.close()
