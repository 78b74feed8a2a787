"""Begin a break of the demo, find the last one, and ask how far it is.

The audit entry of a break is its record: nothing else is stored. The supervisor kills processes,
the receiver fails, and both keep their own times. Every break ends by itself.
"""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.db import transaction

from events import audit
from events.models import AuditEntry
from executions.demo import pulses
from executions.ledger import totals
from executions.loop.clocks import database_now
from executions.triggering.receiver_requests import segment
from shared.actor import Actor
from shared.exceptions import Conflict, NotFound, Unavailable
from shared.instants import format_instant
from shared.unix_http import UnixConnection
from tenants.models import Tenant

#: What ``demo seed`` writes about the tenant that it has made.
SEEDED, BROKEN = "demo.seeded", "demo.broken"
#: Before the strike the pulses run undisturbed, so that calls are under way when it comes.
LEAD_SECONDS = 6
FAULT_SECONDS = 20
#: The pulses fire this long.
LOAD_SECONDS = 45
#: After the last pulse: the longest that late work is waited for.
SETTLE_SECONDS = 75
_ASK_SECONDS = 5.0


class Kind(StrEnum):
    """What can be broken."""

    RECEIVER_FAILS = "receiver-fails"
    RECEIVER_SLOW = "receiver-slow"
    WORKER = "worker"
    SCHEDULER = "scheduler"


_FAULTS = {Kind.RECEIVER_FAILS: "fail", Kind.RECEIVER_SLOW: "slow"}


class NoDemo(NotFound):
    """There is no demo here: `DEMO=true make up` starts an installation with it."""

    code = "no_demo"


@dataclass(frozen=True, slots=True)
class Break:
    """A break as it was begun; its strike comes at ``strikes_at``, the pulses fire meanwhile."""

    id: UUID
    kind: Kind
    actor: str
    at: datetime
    strikes_at: datetime
    first: datetime
    last: datetime
    pulses: int
    #: How many executions the installation had taken back when it began.
    taken_back: int

    @property
    def expected(self) -> int:
        """Return how many instants the pulses have."""
        return self.pulses * (int((self.last - self.first).total_seconds()) + 1)

    @property
    def gives_up_at(self) -> datetime:
        """Return when it is over at the latest."""
        return self.last + timedelta(seconds=SETTLE_SECONDS)


def require_demo(tenant_id: UUID) -> None:
    """Raise NoDemo unless ``up`` was started with the demo, NotFound for another tenant."""
    if not settings.DEMO:
        raise NoDemo
    if not is_demo(tenant_id):
        raise NotFound(
            "There is no break of this tenant. Breaks belong to the demo tenant: choose the tenant "
            "demo, or make it with `manage.py demo seed`."
        )


def is_demo(tenant_id: UUID) -> bool:
    """Return whether ``demo seed`` has made the tenant."""
    found: bool = AuditEntry.objects.filter(tenant_id=tenant_id, action=SEEDED).exists()
    return found


@transaction.atomic
def begin(tenant_id: UUID, kind: Kind, *, actor: Actor) -> None:
    """Begin a break of the demo tenant: its load now, its strike a few seconds later.

    Raise as :func:`require_demo`; Conflict while another one is under way; Unavailable where the
    supervisor or the receiver does not answer, or a process of the kind is not alive.
    """
    require_demo(tenant_id)
    # The race: of two breaks at a time, the second would spoil the count of the first.
    Tenant.objects.select_for_update(no_key=True).get(pk=tenant_id)
    now = database_now()
    former = last_of(tenant_id)
    if former is not None and now <= former.last:
        text = f"The break {former.kind} is under way until {format_instant(former.last)}."
        raise Conflict(f"{text} Wait for its end.")
    first = now.replace(microsecond=0) + timedelta(seconds=2)
    last = first + timedelta(seconds=LOAD_SECONDS - 1)
    ids = pulses.fire(tenant_id, first, last, actor=actor, now=now)
    after = {
        "kind": kind.value,
        "strikes_at": format_instant(now + timedelta(seconds=LEAD_SECONDS)),
        "first": format_instant(first),
        "last": format_instant(last),
        "pulses": len(ids),
        "taken_back": totals.read().get(totals.EXPIRED_EXECUTIONS, 0),
    }
    audit.record(tenant_id, actor, BROKEN, "tenant", tenant_id, after=after)
    _order(tenant_id, kind)


def last_of(tenant_id: UUID) -> Break | None:
    """Return the tenant's last break; None before the first one."""
    found = AuditEntry.objects.filter(tenant_id=tenant_id, action=BROKEN)
    entry = found.order_by("-sequence").first()
    if entry is None:
        return None
    after = json.loads(entry.after or "{}")
    return Break(
        id=entry.id,
        kind=Kind(after["kind"]),
        actor=entry.actor,
        at=entry.at,
        strikes_at=_instant(after["strikes_at"]),
        first=_instant(after["first"]),
        last=_instant(after["last"]),
        pulses=after["pulses"],
        taken_back=after["taken_back"],
    )


def strike() -> dict[str, Any] | None:
    """Return the supervisor's last strike; None where it has made none or does not answer."""
    try:
        found: dict[str, Any] | None = _ask(_supervisor(), "GET", "/strikes")["strike"]
    except Unavailable:
        return None
    return found


def trial(tenant_id: UUID) -> dict[str, Any] | None:
    """Return the receiver's last trial of the tenant; None without one, or without an answer."""
    try:
        found: dict[str, Any] | None = _ask(_receiver(), "GET", f"/trials/{segment(tenant_id)}")[
            "trial"
        ]
    except Unavailable:
        return None
    return found


def _order(tenant_id: UUID, kind: Kind) -> None:
    """Begin the receiver's count and its fault, or order the strike."""
    fault = _FAULTS.get(kind, "none")
    asked = urlencode({"fault": fault, "after": LEAD_SECONDS, "seconds": FAULT_SECONDS})
    _ask(_receiver(), "POST", f"/trials/{segment(tenant_id)}?{asked}")
    if fault == "none":
        asked = urlencode({"kind": kind.value, "after": LEAD_SECONDS})
        _ask(_supervisor(), "POST", f"/strikes?{asked}")


def _supervisor() -> Path:
    return Path(settings.SUPERVISOR_SOCKET)


def _receiver() -> Path:
    return Path(settings.RECEIVER_SOCKET)


def _ask(socket: Path, method: str, target: str) -> dict[str, Any]:
    """Return the document that a process of ``up`` answers on its socket file."""
    who = "receiver" if socket == _receiver() else "supervisor"
    connection = UnixConnection(socket, _ASK_SECONDS)
    try:
        connection.request(method, target)
        answer = connection.getresponse()
        body = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise Unavailable(f"The {who} of `up` does not answer. Try again.") from error
    finally:
        connection.close()
    return _read(who, answer.status, body)


def _read(who: str, status: int, body: bytes) -> dict[str, Any]:
    """Return the document of an answer; raise Conflict or Unavailable for a refusal."""
    found: dict[str, Any] = json.loads(body or b"{}")
    if status == http.client.CONFLICT:
        raise Conflict(f"Nothing was killed: {found['error']}. Try again in a few seconds.")
    if status >= http.client.BAD_REQUEST:
        raise Unavailable(f"The {who} of `up` refused to break (HTTP {status}).")
    return found


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
