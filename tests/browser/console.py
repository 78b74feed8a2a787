"""A running installation as somebody in front of a browser sees it, and what a page did wrong.

The session has one installation with a mail server of its own; every test opens tabs on it.
"""

from __future__ import annotations

import json
import os
import re
import signal
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import (
    BrowserContext,
    ConsoleMessage,
    Error,
    Locator,
    Page,
    Request,
    StorageState,
    TimeoutError,
)

from tests.support.ending import has_ended
from tests.support.installation import Installation
from tests.support.smtp_sink import SmtpSink
from tests.support.waiting import until

_REPORT_VIOLATIONS = """
document.addEventListener("securitypolicyviolation",
  (event) => console.error("policy:", event.violatedDirective, event.blockedURI));
"""
# What htmx logs when a newer request takes the place of one under way; failures have other names.
_ABORTED = ("htmx:afterRequest,", "htmx:sendAbort,")


def press_together(page: Page, keys: str, url: re.Pattern[str]) -> None:
    """Press letters that lead to a page one after the other, once more where the page was slow.

    A browser that stops between two of them for long forgets the first.
    """
    for _ in range(5):
        for key in keys:
            page.keyboard.press(key)
        with suppress(TimeoutError):
            page.wait_for_url(url, timeout=20_000)
            return
    raise AssertionError(f"{keys} leads to {page.url}")


@dataclass
class Watch:
    """What a tab must not do: leave the host, break the policy, report errors."""

    host: str
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    #: Set by tests that take servers away: the browser reports each call that failed.
    servers_go_away: bool = False

    def attend(self, page: Page) -> None:
        """Watch a tab from now on."""
        page.add_init_script(_REPORT_VIOLATIONS)
        page.on("request", self._on_request)
        page.on("console", self._on_console)
        page.on("pageerror", self._on_error)

    @property
    def foreign(self) -> list[str]:
        """Return the requests that went to another host."""
        return [url for url in self.requests if urlsplit(url).netloc != self.host]

    def _on_request(self, request: Request) -> None:
        if urlsplit(request.url).scheme not in ("data", "blob"):
            self.requests.append(request.url)

    def _on_console(self, message: ConsoleMessage) -> None:
        expected = message.text.startswith(_ABORTED) or (
            self.servers_go_away
            and ("Failed to load resource" in message.text or "WebSocket" in message.text)
        )
        if message.type == "error" and not expected:
            self.errors.append(f"{message.text} ({message.location})")

    def _on_error(self, error: Error) -> None:
        self.errors.append(f"{error.name}: {error.message}")


@dataclass
class Console:
    """The console of a running installation."""

    punctual: Installation
    mail: SmtpSink
    #: The cookies of whoever signed in first; later tabs need no link of their own.
    signed_in: StorageState | None = None

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.punctual.port}"

    def login_link(self) -> str:
        """Return a fresh link that signs in once: ``up`` prints one on a terminal only."""
        made = self.punctual.manage("bootstrap", "--json")
        assert made.returncode == 0, made.stderr
        link = json.loads(made.stdout)["login_url"]
        return link if link.startswith("http") else f"{self.base}{link}"

    def sign_in(self, context: BrowserContext) -> None:
        """Give the context a session."""
        if self.signed_in is None:
            page = context.new_page()
            page.goto(self.login_link())
            self.remember(context)
            page.close()
        else:
            context.add_cookies(self.signed_in["cookies"])  # type: ignore[arg-type]  # what it gave

    def remember(self, context: BrowserContext) -> None:
        """Let later contexts share this one's session."""
        self.signed_in = context.storage_state()

    def create_task(self, name: str, path: str, **parts: Any) -> dict[str, Any]:
        """Create a task by the API that calls the receiver's path; by default once, now."""
        body = {
            "name": name,
            "schedule": {"delay_seconds": 0},
            "target": {"url": self.punctual.target(path)},
            "payload": {"n": 1},
            "retry_policy": {"max_attempts": 1},
            **parts,
        }
        made: dict[str, Any] = self.punctual.call("POST", "/v1/tasks", body)
        return made

    def last_execution(self, task_id: str) -> dict[str, Any]:
        """Wait until the task's newest execution has ended; return it."""

        def ended() -> dict[str, Any] | None:
            page = self.punctual.call("GET", f"/v1/tasks/{task_id}/executions?limit=1")
            rows: list[dict[str, Any]] = page["executions"]
            final = ("SUCCEEDED", "FAILED", "CANCELLED", "SKIPPED")
            return rows[0] if rows and rows[0]["status"] in final else None

        found = until(ended)
        assert found
        return found

    def dead_letter(self, task_id: str) -> dict[str, Any]:
        """Wait for the task's open dead letter; return it."""

        def letters() -> list[dict[str, Any]]:
            page = self.punctual.call("GET", f"/v1/dlq?task={task_id}")
            found: list[dict[str, Any]] = page["dead_letters"]
            return found

        return until(letters)[0]

    def kill(self, kind: str) -> None:
        """End the process of that kind as a crash would; the supervisor starts another."""
        pid = self.pid_of(kind)
        assert pid
        os.kill(pid, signal.SIGKILL)
        assert has_ended(pid)

    def wait_for_another(self, kind: str, than: int) -> None:
        """Wait until another process of the kind is there."""
        until(lambda: self.pid_of(kind) not in (None, than), every=0.3)

    def pid_of(self, kind: str) -> int | None:
        """Return a process of the kind, as ``ps`` lists them."""
        found = [one["pid"] for one in self.punctual.processes() if one["kind"] == kind]
        return found[0] if found else None


def row_of(page: Page, task_name: str) -> Locator:
    """Return the rows of a list that name the task."""
    return page.locator("[data-row]").filter(has_text=task_name)
