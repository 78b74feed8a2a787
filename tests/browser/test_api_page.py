"""The page that describes the API, which reads its document with the person's own session."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.console import Watch


def test_a_signed_in_person_opens_the_description_of_the_api(page: Page, watch: Watch) -> None:
    page.goto("/")

    page.get_by_role("link", name="API", exact=True).first.click()
    page.get_by_role("link", name="All calls").click()

    expect(page.locator(".opblock-summary-path", has_text="/v1/alerts").first).to_be_visible()
    # Swagger UI draws the calls that are in sight alone.
    page.evaluate("location.hash = '#/tasks'")
    page.reload()
    expect(page.locator(".opblock-summary-path", has_text="/v1/tasks").first).to_be_visible()
    # The console's choice of a theme holds here, too.
    page.evaluate("document.cookie = 'punctual_theme=dark; Path=/'")
    page.reload()
    expect(page.locator("html.dark-mode .opblock-summary-description").first).to_be_visible()
    page.evaluate("document.cookie = 'punctual_theme=; Path=/; Max-Age=0'")
    # Swagger UI styles some of its pictures inline, which the policy refuses.
    assert [error for error in watch.errors if "style" not in error] == []
    watch.errors.clear()


def test_the_description_of_the_api_leads_a_stranger_to_the_login(stranger: Page) -> None:
    stranger.goto("/v1/docs/")

    expect(stranger).to_have_url(re.compile(r"/login\?next=/v1/docs/$"))
