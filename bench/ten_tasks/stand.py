"""The data that the tasks are done on: the demo tenant, and what the tasks are about beside it."""

from __future__ import annotations

import http.client
import json
import secrets
import subprocess
import sys
import time
from dataclasses import dataclass, field
from threading import Event
from typing import Any
from urllib.parse import urlsplit

from bench.installation import CHECKOUT, Installation, InstallationError

TENANT = "demo"
#: Of tasks that never fire during the report.
_FAR = {"cron_expression": "0 0 1 1 *", "timezone": "UTC"}
#: For each hand a host that tasks call, and that is never called here.
HOSTS = {"mouse": "api.example.com", "keys": "api.example.org"}
CHANGED = "Price feed"
#: A task whose attempts are refused with 503, and which ends after more than two seconds.
SLOW = "Partner export"
PAUSED = "Paused import"
#: For each hand a cause of its own: what one has retried is gone for the other.
CAUSES = {"mouse": "http_status:503", "keys": "connection_refused"}
CRONTAB_LINES = 40
ENDS_WITHIN_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Stand:
    """The installation with its demo tenant, and how to come in."""

    product: Installation
    key: str = field(repr=False)
    #: The host of the test receiver, as lists of destinations name it.
    receiver: str

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Call the API of the demo tenant; InstallationError if it refuses."""
        address = urlsplit(self.product.base_url)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
        sent = {
            "Authorization": f"Bearer {self.key}",
            "Content-Type": "application/json",
            "Idempotency-Key": secrets.token_hex(8),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        try:
            connection.request(method, path, json.dumps(body) if body else None, sent)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status >= 300:
            raise InstallationError(f"{method} {path}: {answer.status} {text[:300]!r}")
        return json.loads(text) if text else None

    def login_link(self) -> str:
        """Return a link that signs the owner in once."""
        link: str = manage(self.product, "bootstrap")["login_url"]
        return link if link.startswith("http") else f"{self.product.base_url}{link}"


def manage(product: Installation, *arguments: str) -> Any:
    """Run a command of the installation and return its document."""
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments, "--json"],
        cwd=CHECKOUT,
        env=product.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise InstallationError(f"manage.py {' '.join(arguments)}: {done.stderr[-500:]}")
    return json.loads(done.stdout)


def build(product: Installation) -> Stand:
    """Make the demo tenant and the tasks that the ten tasks are about."""
    manage(product, "demo", "seed")
    scopes = [word for one in ("read", "write", "operate") for word in ("--scope", one)]
    key = manage(product, "apikey", "create", "--tenant", TENANT, "--name", "bench", *scopes)
    stand = Stand(product, key["key"], "")
    base = str(stand.call("GET", "/v1/receiver")["url"]).rstrip("/")
    stand = Stand(product, key["key"], urlsplit(base).netloc)
    for host in HOSTS.values():
        for name in ("Orders", "Stock", "Returns"):
            _create(stand, f"{name} to {host}", f"https://{host}/{name.lower()}", _FAR)
    changed = _create(stand, CHANGED, f"https://{HOSTS['mouse']}/prices", _FAR)
    target = {"url": f"https://{HOSTS['mouse']}/v2/prices"}
    stand.call("PATCH", f"/v1/tasks/{changed}", {"target": target}, If_Match='"1"')
    policy = {
        "max_attempts": 2,
        "backoff": "fixed",
        "initial_delay_seconds": 2.5,
        "jitter": "none",
    }
    slow = _create(stand, SLOW, f"{base}/status/503", {"delay_seconds": 0}, retry_policy=policy)
    _wait_for_the_end(stand, slow)
    return stand


def _create(stand: Stand, name: str, url: str, schedule: dict[str, Any], **parts: Any) -> str:
    body = {"name": name, "schedule": schedule, "target": {"url": url}, "payload": {}, **parts}
    made: str = stand.call("POST", "/v1/tasks", body)["id"]
    return made


def _wait_for_the_end(stand: Stand, task: str) -> None:
    deadline, pause = time.monotonic() + ENDS_WITHIN_SECONDS, Event()
    while time.monotonic() < deadline:
        rows = stand.call("GET", f"/v1/tasks/{task}/executions?limit=1")["executions"]
        if rows and rows[0]["status"] == "FAILED":
            return
        pause.wait(0.5)
    raise InstallationError(f"{SLOW} has not ended within {ENDS_WITHIN_SECONDS:.0f} s")


def crontab() -> str:
    """Return a crontab of forty lines, each with a command of its own."""
    return "\n".join(
        f"{number % 60} {number % 24} * * {1 + number % 5} /usr/local/bin/job-{number:02}"
        for number in range(CRONTAB_LINES)
    )
