"""Whether the installation works, for its operators: the members who are superusers.

A recorder judges, so that a recorder runs is not judged: rules for a monitoring program do that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple
from uuid import UUID

from executions.ownership import fence
from notifications.choices import AlertKind
from notifications.findings import Cause
from notifications.rule_book import Applied, RuleBook
from notifications.time_checks.judging import Broken
from shared.conf import conf
from shared.sql import rows
from tenants.models import Membership
from wire.heartbeats import WorkerInfo

#: A restart is over sooner than this.
LASTS_SECONDS = 30.0


class Trouble(NamedTuple):
    """A part of the installation that does not work."""

    part: str
    sentence: str
    #: Whether it has lasted, so that an alert opens; one that is open goes on in any case.
    lasts: bool


class Troubles:
    """Notes since when each part has not worked, as this process has seen it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: dict[str, float] = {}

    def now(self, workers: Sequence[WorkerInfo] | None) -> list[Trouble]:
        """Return what does not work at this moment; ``workers`` is None where Redis is away."""
        found = dict(_wrong(workers))
        now = self._clock()
        self._since = {part: self._since.get(part, now) for part in found}
        return [
            Trouble(part, sentence, now - self._since[part] >= LASTS_SECONDS)
            for part, sentence in found.items()
        ]


def _wrong(workers: Sequence[WorkerInfo] | None) -> Iterator[tuple[str, str]]:
    unowned, _, total, schedulers = rows(
        "metric_reads/partitions", {"ttl": conf().partition_lease_seconds}
    )[0]
    if schedulers == 0:
        yield "scheduler", "no scheduler runs"
    elif unowned and not fence.holds():
        yield "scheduler", f"{unowned} of {total} partitions have no scheduler"
    if workers is None:
        yield "redis", "Redis cannot be reached"
    elif not any(one.takes_work for one in workers if one.tenant is None):
        yield "worker", "no live worker takes work"


def rules_of_operators(kind: str) -> list[tuple[UUID, Applied]]:
    """Return the rule of the kind in each tenant that has an operator among its members."""
    operators = Membership.objects.filter(user__is_superuser=True, user__is_active=True)
    tenants = sorted(set(operators.values_list("tenant_id", flat=True)))
    book = RuleBook.of(tenants)
    found = ((tenant_id, book.rule(tenant_id, kind)) for tenant_id in tenants)
    return [(tenant_id, rule) for tenant_id, rule in found if rule is not None]


def broken_parts(troubles: Sequence[Trouble]) -> list[Broken]:
    """Return the broken rules of the tenants that have an operator among their members."""
    if not troubles:
        return []
    kind = AlertKind.INSTALLATION_UNHEALTHY
    return [
        Broken(
            Cause(tenant_id, kind, subject=one.part, rule_id=rule.id),
            one.sentence,
            rule.urgent,
            opens=one.lasts,
        )
        for tenant_id, rule in rules_of_operators(kind)
        for one in troubles
    ]
