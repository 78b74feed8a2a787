"""Takes the pictures of docs/images from a running product: ``make screenshots``.

It starts an installation with the demo tenant, waits until each page shows what it is for, and
replaces the files. Nothing of it is left running.
"""

from __future__ import annotations

import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, ViewportSize, expect, sync_playwright

from tests.browser.console import Console
from tests.support.chromium import find_chromium, launch_chromium
from tests.support.installation import ROOT, Installation, installation
from tests.support.smtp_sink import SmtpSink

IMAGES = ROOT / "docs/images"
WIDTH, HEIGHT = 1280, 860
PHONE: ViewportSize = {"width": 390, "height": 844}
#: The ports of a first start; pictures show the addresses that a reader will have.
USUAL_PORTS = (8000, 8001)
PATIENCE_MS = 90_000


def main() -> None:
    """Replace every picture."""
    path = find_chromium()
    if path is None:
        sys.exit("No Chromium is installed: apt-get install chromium")
    expect.set_options(timeout=PATIENCE_MS)
    IMAGES.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="punctual-pictures-") as directory,
        _running(Path(directory)) as punctual,
        sync_playwright() as playwright,
    ):
        console = Console(punctual, SmtpSink())
        browser = launch_chromium(playwright, path)
        context = browser.new_context(
            base_url=console.base,
            viewport={"width": WIDTH, "height": HEIGHT},
            timezone_id="Europe/Berlin",
            reduced_motion="reduce",
            color_scheme="light",
        )
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        _enter_the_demo(page, console)
        for name, show in PICTURES.items():
            page.mouse.move(0, 0)
            show(page)
            expect(page.locator("#live-text")).to_have_text("live")
            _take(page, name)
        browser.close()
        punctual.stop()


def _enter_the_demo(page: Page, console: Console) -> None:
    made = console.punctual.manage("demo", "seed")
    assert made.returncode == 0, made.stderr
    page.goto(console.login_link())
    page.locator("select#tenant").select_option(label="demo")
    expect(page.locator(".flash.success")).to_contain_text("demo")
    page.goto("/alerts")
    expect(page.locator("[data-row]").nth(1)).to_be_visible()
    # A minute of real runs beside the made-up past, so that strips and delays have something.
    page.goto("/executions?status=SUCCEEDED&q=Every+5+seconds")
    expect(page.locator("[data-row]").nth(11)).to_be_visible()


def _overview(page: Page) -> None:
    page.goto("/")
    expect(page.locator("#next-fires li").first).to_be_visible()


def _overview_in_the_dark(page: Page) -> None:
    page.context.add_cookies([{"name": "punctual_theme", "value": "dark", "url": page.url}])
    _overview(page)


def _task(page: Page) -> None:
    page.context.add_cookies([{"name": "punctual_theme", "value": "light", "url": page.url}])
    page.goto("/tasks?q=Every+5+seconds")
    page.locator("[data-row] a[data-open]").first.click()
    expect(page.locator("#runs-title")).to_be_visible()


def _new_task(page: Page) -> None:
    page.goto("/tasks/new?example=1")
    page.get_by_label("Name", exact=True).fill("Morning report")
    page.get_by_label("By cron").check()
    page.get_by_label("Cron expression").fill("30 8 * * mon-fri")
    expect(page.locator("#preview .sentence")).to_contain_text("8:30")
    page.get_by_role("button", name="Send test now").click()
    expect(page.locator("#test-result svg").first).to_be_visible()


def _execution(page: Page) -> None:
    page.goto("/executions?status=FAILED&q=Always+fails")
    page.locator("[data-row] a[data-open]").first.click()
    expect(page.get_by_role("region", name="Path")).to_be_visible()


def _dead_letters(page: Page) -> None:
    page.goto("/dead-letters")
    expect(page.locator("[data-row]").first).to_be_visible()


def _workflow_run(page: Page) -> None:
    page.goto("/workflows")
    page.locator("[data-row] a[data-open]").first.click()
    page.locator("[data-row] a[data-open]").first.click()
    expect(page.get_by_role("heading", name="approve waits for approval")).to_be_visible()
    expect(page.locator(".dag .state-failed")).to_be_visible()


def _workflow_run_in_the_dark(page: Page) -> None:
    page.context.add_cookies([{"name": "punctual_theme", "value": "dark", "url": page.url}])
    page.reload()
    expect(page.locator(".dag .state-failed")).to_be_visible()


def _workflow_run_on_a_phone(page: Page) -> None:
    page.context.add_cookies([{"name": "punctual_theme", "value": "light", "url": page.url}])
    page.set_viewport_size(PHONE)
    page.reload()
    expect(page.locator(".dag .state-failed")).to_be_attached()


def _workflow_step(page: Page) -> None:
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    page.locator("#step-archive a[data-open]").click()
    expect(page.get_by_role("heading", name="archive", level=1)).to_be_visible()


def _workflow_failed(page: Page) -> None:
    page.go_back()
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("header.page-head")).to_contain_text("failed")
    expect(page.locator("#step-report")).to_contain_text("succeeded")


def _workflow_timing(page: Page) -> None:
    page.get_by_role("region", name="Timing").scroll_into_view_if_needed()
    page.get_by_role("region", name="Timing").evaluate("chart => chart.scrollIntoView()")


def _workflow_repaired(page: Page) -> None:
    page.locator(".flash.error").get_by_role("link", name="Edit the workflow").click()
    page.get_by_role("button", name="As text").click()
    text = page.get_by_label("Definition (YAML or JSON)")
    text.fill(text.input_value().replace("/500", "/ok"))
    page.get_by_role("button", name="Save as version 2").click()
    page.locator("summary", has_text="Retry").click()
    page.get_by_role("button", name="Retry the run").click()
    expect(page.locator("header.page-head")).to_contain_text("take 2")
    expect(page.locator("#step-archive")).to_contain_text("succeeded")
    expect(page.locator(".flash.error")).to_have_count(0)


def _workflow_grid(page: Page) -> None:
    page.locator(".crumbs a").last.click()
    page.get_by_role("region", name="Runs by step").evaluate("grid => grid.scrollIntoView()")


def _workers(page: Page) -> None:
    page.goto("/workers")
    expect(page.locator("table .name").first).to_be_visible()


PICTURES: dict[str, Callable[[Page], None]] = {
    "overview": _overview,
    "overview-dark": _overview_in_the_dark,
    "task": _task,
    "new-task": _new_task,
    "execution": _execution,
    "dead-letters": _dead_letters,
    "workflow-run": _workflow_run,
    "workflow-run-dark": _workflow_run_in_the_dark,
    "workflow-run-narrow": _workflow_run_on_a_phone,
    "workflow-step": _workflow_step,
    "workflow-failed": _workflow_failed,
    "workflow-timing": _workflow_timing,
    "workflow-repaired": _workflow_repaired,
    "workflow-grid": _workflow_grid,
    "workers": _workers,
}


def _take(page: Page, name: str) -> None:
    for toast in page.locator("#toasts .toast button").all():
        toast.click()
    path = IMAGES / f"{name}.png"
    page.screenshot(path=path, animations="disabled", caret="hide")
    sys.stdout.write(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1000:.0f} kB\n")


@contextmanager
def _running(directory: Path) -> Iterator[Installation]:
    directory.chmod(0o755)
    with installation(directory / "var") as made:
        if all(_is_free(port) for port in USUAL_PORTS):
            made.port, made.receiver_port = USUAL_PORTS
        made.start()
        yield made


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


if __name__ == "__main__":
    main()
