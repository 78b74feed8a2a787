"""An installation that was started with the demo: its tenant, and the processes of ``up``."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from events import audit
from executions.demo import breaks, pulses
from executions.demo.breaks import Kind
from shared.conf import conf
from shared.exceptions import Conflict, Unavailable
from shared.instants import format_instant
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import ACTOR, every_second, make_task, make_tenant


class Up:
    """What the supervisor and the receiver of ``up`` are asked, and what they answer."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.strike: dict[str, Any] | None = None
        self.trial: dict[str, Any] | None = None
        self.error: Conflict | Unavailable | None = None

    def ask(self, socket: Any, method: str, target: str) -> dict[str, Any]:
        """Answer as the socket files do."""
        if method == "POST":
            self.asked.append(target)
        if self.error is not None:
            raise self.error
        return {"strike": self.strike, "trial": self.trial}

    def struck(self, at: datetime, *, back: datetime | None = None, kind: str = "worker") -> None:
        """Let the supervisor have killed a process."""
        self.strike = {
            "kind": kind,
            "due_at": at.isoformat(),
            "struck_at": at.isoformat(),
            "name": f"{kind}-1",
            "pid": 41,
            "back_at": back.isoformat() if back else None,
            "new_pid": 42 if back else None,
        }

    def arrived(self, *attempts: tuple[UUID, int, int, int], complete: bool = True) -> None:
        """Let the receiver have counted: execution, attempt, times, answers of success."""
        rows = [[str(one), str(number), times, good] for one, number, times, good in attempts]
        self.trial = {"attempts": rows, "complete": complete}


def start_demo(monkeypatch: pytest.MonkeyPatch, settings: Any) -> tuple[Tenant, Up]:
    """Return a demo tenant and the ``up`` of its installation."""
    settings.DEMO = True
    settings.RECEIVER_URL = "http://127.0.0.1:8001/"
    settings.PUNCTUAL = replace(conf(), webhook_allowed_networks=("127.0.0.1/32",))
    tenant = make_tenant("demo")
    audit.record(tenant.id, ACTOR, breaks.SEEDED, "tenant", tenant.id)
    up = Up()
    monkeypatch.setattr(breaks, "_ask", up.ask)
    return tenant, up


def note_break(tenant: Tenant, kind: Kind, first: datetime, *, seconds: int = 2) -> list[Task]:
    """Write a break whose pulses, two tasks, began at ``first``; return these tasks.

    Its strike was at the end of the first second.
    """
    body = every_second(labels={pulses.LABEL: pulses.LABELLED})
    tasks = [make_task(tenant, {**body, "name": f"Pulse {number}"}) for number in (1, 2)]
    after = {
        "kind": kind.value,
        "strikes_at": format_instant(first + timedelta(seconds=1)),
        "first": format_instant(first),
        "last": format_instant(first + timedelta(seconds=seconds - 1)),
        "pulses": len(tasks),
        "taken_back": 0,
    }
    audit.record(tenant.id, ACTOR, breaks.BROKEN, "tenant", tenant.id, after=after)
    return tasks
