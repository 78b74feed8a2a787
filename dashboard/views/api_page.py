"""The API for the one who reads this page: the first calls with a key of the tenant, and receivers.

A key is named by its prefix alone, to those who may see keys; its text is in no page.
"""

from __future__ import annotations

import shlex
from functools import cache
from typing import NamedTuple

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render

from dashboard.access import ConsoleRequest, page
from shared import database_clock
from shared.conf import conf
from tenants.choices import Role
from tenants.models import ApiKey
from tenants.quotas.known import limits_of
from tenants.quotas.limits import BURST_SECONDS

_KEYS = 5
_SAMPLES = (
    ("Python", "python/receiver.py"),
    ("JavaScript", "javascript/receiver.js"),
    ("Java", "java/Receiver.java"),
    ("Ruby", "ruby/receiver.rb"),
    ("PHP", "php/receiver.php"),
)


class Sample(NamedTuple):
    """A complete receiver that verifies signatures, in one language."""

    language: str
    text: str


@page(Role.VIEWER)
def api_page(request: ConsoleRequest) -> HttpResponse:
    """Show the first calls, the rate, and how a receiver verifies what it gets."""
    visitor = request.visitor
    keys = _valid_keys(request) if visitor.may_edit else []
    rate = _rate(request)
    shown = {
        "keys": keys,
        "key": keys[0] if keys else None,
        "base": conf().public_url.rstrip("/"),
        "calls": _calls(keys[0] if keys else None),
        "rate": rate,
        "burst": rate * BURST_SECONDS,
        "samples": samples(),
    }
    return render(request, "dashboard/api_page.html", shown)


def _rate(request: ConsoleRequest) -> int:
    """Return how many calls a second each key of the tenant may make; 0 for no limit."""
    if request.visitor.tenant.unlimited:
        return 0
    limits = limits_of(request.visitor.tenant.pk)
    return limits.calls_per_second or conf().api_calls_per_second


@cache
def samples() -> tuple[Sample, ...]:
    """Return the receivers of the documentation, which are tested with every release."""
    folder = settings.BASE_DIR / "docs/examples/receivers"
    return tuple(
        Sample(language, (folder / path).read_text(encoding="utf-8")) for language, path in _SAMPLES
    )


def _valid_keys(request: ConsoleRequest) -> list[ApiKey]:
    """Return keys of the tenant that may be used now, the one that was used last first."""
    found = ApiKey.objects.filter(tenant=request.visitor.tenant, revoked_at=None)
    now = database_clock.now()
    valid = [key for key in found.order_by("-id")[: _KEYS * 4] if key.is_valid_at(now)]
    valid.sort(key=lambda key: key.last_used_at or key.created_at, reverse=True)
    return valid[:_KEYS]


def _calls(key: ApiKey | None) -> list[tuple[str, str]]:
    """Return the first calls, each with its purpose."""
    base = conf().public_url.rstrip("/")
    begins = f"{key.prefix}…" if key else "…"
    auth = '-H "Authorization: Bearer $PUNCTUAL_KEY"'
    json = "-H 'Content-Type: application/json'"
    target = '"target": {"url": "https://example.com/hook"}'
    return [
        ("Set the key in your shell, once", f"export PUNCTUAL_KEY={shlex.quote(begins)}"),
        ("Who am I?", f"curl {base}/v1/me {auth}"),
        (
            "Call a webhook in a minute",
            f"curl {base}/v1/tasks {auth} \\\n  {json} \\\n"
            f'  -d \'{{"schedule": {{"delay_seconds": 60}}, {target}}}\'',
        ),
        (
            "What has failed?",
            f'curl "{base}/v1/executions?status=FAILED&limit=20" {auth}',
        ),
        ("Follow the failures", f'curl "{base}/v1/events?types=execution.failed" {auth}'),
    ]
