"""The story of a failed night: a workflow is written, fails, is mended, and goes on from there."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Page, expect

from tests.browser.console import Console

_DEFINITION = """name: Nightly load
steps:
  - key: extract
    target: {{url: {ok}}}
    payload: {{night: extract}}
  - key: load
    depends_on: [extract]
    target: {{url: {load}}}
    payload: {{night: load}}
    retry_policy: {{max_attempts: 1}}
  - key: report
    depends_on: [load]
    target: {{url: {ok}}}
    payload: {{night: report}}
"""


def test_a_failed_step_is_mended_and_the_run_goes_on_from_there(
    console: Console, page: Page
) -> None:
    _write_the_workflow(page, console)
    _run_it(page)
    _find_the_cause(page)
    _mend_the_step(page, console)
    _retry_the_run(page)

    received = console.punctual.received("/ok")
    bodies = [json.loads(request["body"]) for request in received if request["body"]]
    assert [body for body in bodies if isinstance(body, dict) and "night" in body] == [
        {"night": "extract"},
        {"night": "load"},
        {"night": "report"},
    ]


def _write_the_workflow(page: Page, console: Console) -> None:
    page.goto("/workflows")
    page.get_by_role("link", name="New workflow").click()
    page.get_by_role("button", name="As text").click()
    definition = page.get_by_label("Definition (YAML or JSON)")
    definition.fill(
        "name: Nightly load\nsteps:\n  - key: a\n    depends_on: [a]\n    kind: approval\n"
    )
    check = page.locator("#check")
    expect(check).to_contain_text("a → a")
    definition.fill(_definition(console, "/status/503"))
    expect(check.locator("svg")).to_contain_text("report")
    page.get_by_role("button", name="Create the workflow").click()
    expect(page.get_by_role("heading", name="Nightly load", level=1)).to_be_visible()


def _definition(console: Console, load: str) -> str:
    target = console.punctual.target
    return _DEFINITION.format(ok=target("/ok"), load=target(load))


def _run_it(page: Page) -> None:
    page.locator("summary", has_text="Run now").click()
    page.get_by_role("button", name="Run the workflow").click()
    expect(page.get_by_role("heading", name="Run of Nightly load", level=1)).to_be_visible()
    page.evaluate("window.notReloaded = true")
    # It fails by itself, before our eyes.
    expect(page.locator("header.page-head")).to_contain_text("failed")
    assert page.evaluate("window.notReloaded")


def _find_the_cause(page: Page) -> None:
    expect(page.locator("#step-extract")).to_contain_text("succeeded")
    expect(page.locator("#step-load")).to_contain_text("http_status")
    page.locator(".flash.error").get_by_role("link", name="load").click()
    expect(page.get_by_role("heading", name="load", level=1)).to_be_visible()
    expect(page.locator(".flash.error")).to_contain_text("503")
    page.go_back()


def _mend_the_step(page: Page, console: Console) -> None:
    page.locator(".flash.error").get_by_role("link", name="Edit the workflow").click()
    page.get_by_role("button", name="As text").click()
    page.get_by_label("Definition (YAML or JSON)").fill(_definition(console, "/ok"))
    page.get_by_role("button", name="Save as version 2").click()
    expect(page.locator(".flash.success")).to_contain_text("To use this version, retry the run")


def _retry_the_run(page: Page) -> None:
    page.locator("summary", has_text="Retry").click()
    expect(page.get_by_label("By version")).to_have_value("latest")
    page.get_by_role("button", name="Retry the run").click()
    expect(page.locator("header.page-head")).to_contain_text("succeeded")
    expect(page.locator("header.page-head")).to_contain_text("take 2")
    for step in ("extract", "load", "report"):
        expect(page.locator(f"#step-{step}")).to_contain_text(re.compile("succeeded"))
