"""``manage.py schedulers``: which schedulers live, and who owns the partitions.

Exit codes: 0 every partition has an owner; 1 some have none, so their tasks do not run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from string import ascii_letters, digits
from typing import Any

from executions.loop.clocks import database_now
from executions.models import PartitionLease, SchedulerNode
from executions.ownership import fence
from insight import takeovers
from insight.presentation.takeovers import present_losses
from operations.takeover_lines import takeover_lines
from shared.command_parser import Verb
from shared.commands import FAILED, VerbCommand, shown, shown_id, table
from shared.conf import conf

_LETTERS = ascii_letters.upper() + digits
_UNOWNED = "."
_MANY = "?"
_ROW = 16


@dataclass(frozen=True, slots=True)
class _Ownership:
    """The schedulers and the leases of partitions, at one moment."""

    nodes: list[SchedulerNode]
    leases: list[PartitionLease]
    now: datetime

    @property
    def owned(self) -> list[PartitionLease]:
        return [lease for lease in self.leases if _stands(lease, self.now)]

    @property
    def totals(self) -> dict[str, int]:
        return {"partitions_total": len(self.leases), "partitions_owned": len(self.owned)}


def _read() -> _Ownership:
    nodes = list(SchedulerNode.objects.order_by("started_at", "id"))
    return _Ownership(
        nodes, list(PartitionLease.objects.with_ends().order_by("partition")), database_now()
    )


def _list(command: Any, options: Mapping[str, Any]) -> None:
    found = _read()
    documents = _schedulers(found.nodes, found.owned, found.now)
    command.emit(options, {"schedulers": documents, **found.totals}, _list_lines(documents))
    _leave_unowned(command, found)


def _map(command: Any, options: Mapping[str, Any]) -> None:
    found = _read()
    documents = _partitions(found.leases, found.nodes, found.now)
    lines = map_lines(found.leases, found.nodes, found.now)
    command.emit(options, {"partitions": documents, **found.totals}, lines)
    _leave_unowned(command, found)


def _leave_unowned(command: Any, found: _Ownership) -> None:
    missing = len(found.leases) - len(found.owned)
    if missing:
        command.note(f"{missing} of {len(found.leases)} partitions have no owner")
        command.leave(FAILED)


def _takeovers(command: Any, options: Mapping[str, Any]) -> None:
    document = present_losses(takeovers.read())
    command.emit(options, document, takeover_lines(document))


class Command(VerbCommand):
    """List the schedulers, show who owns which partition, and what was taken over."""

    help = "The live schedulers, the owner of each partition, and what was taken over."
    verbs = (
        Verb("list", "list the schedulers", ("schedulers list",), _list),
        Verb("map", "show the owner of every partition", ("schedulers map",), _map),
        Verb(
            "takeovers",
            "show the last takeovers of partitions, and what was lost with workers in a day",
            ("schedulers takeovers",),
            _takeovers,
        ),
    )


def _stands(lease: PartitionLease, now: datetime) -> bool:
    return lease.owner is not None and lease.ends_at is not None and lease.ends_at > now


def _schedulers(
    nodes: Sequence[SchedulerNode], owned: Sequence[PartitionLease], now: datetime
) -> list[dict[str, Any]]:
    shares = Counter(lease.owner for lease in owned)
    epochs: dict[Any, int] = {}
    for lease in owned:
        epochs[lease.owner] = max(lease.epoch, epochs.get(lease.owner, 0))
    return [
        {
            "id": str(node.id),
            "name": node.name,
            "pid": node.pid,
            "started_at": node.started_at,
            "heartbeat_at": node.heartbeat_at,
            "heartbeat_age_seconds": _age(node, now),
            "live": _age(node, now) < conf().partition_lease_seconds,
            "reaches_redis": node.reaches_redis,
            "partitions": shares.get(node.id, 0),
            "epoch": epochs.get(node.id),
        }
        for node in nodes
    ]


def _age(node: SchedulerNode, now: datetime) -> float:
    return round(max(0.0, (now - node.heartbeat_at).total_seconds()), 3)


def _state(node: Mapping[str, Any]) -> str:
    if not node["live"]:
        return "silent"
    return "live" if node["reaches_redis"] else "cut off from Redis"


def _list_lines(found: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = [
        (
            shown_id(node["name"], 30),
            node["pid"],
            _state(node),
            f"{node['heartbeat_age_seconds']:.1f} s",
            node["partitions"],
            node["epoch"],
        )
        for node in found
    ]
    return table(("name", "pid", "state", "heartbeat", "partitions", "epoch"), rows)


def _partitions(
    leases: Sequence[PartitionLease], nodes: Sequence[SchedulerNode], now: datetime
) -> list[dict[str, Any]]:
    names = {fence.OWNER: fence.NAME} | {node.id: node.name for node in nodes}
    return [
        {
            "partition": lease.partition,
            "owner": str(lease.owner) if _stands(lease, now) else None,
            "owner_name": names.get(lease.owner) if lease.owner and _stands(lease, now) else None,
            "epoch": lease.epoch,
            "expires_at": lease.ends_at,
        }
        for lease in leases
    ]


def map_lines(
    leases: Sequence[PartitionLease], nodes: Sequence[SchedulerNode], now: datetime
) -> list[str]:
    """Return the partitions as rows of sixteen letters, one letter per owner, and a legend."""
    owners = [lease.owner if _stands(lease, now) else None for lease in leases]
    letters = _letters_of([owner for owner in owners if owner is not None])
    marks = [_UNOWNED if owner is None else letters[owner] for owner in owners]
    lines = [
        f"{start:>3}  {' '.join(marks[start : start + _ROW])}"
        for start in range(0, len(marks), _ROW)
    ]
    names = {fence.OWNER: fence.NAME} | {node.id: node.name for node in nodes}
    counts = Counter(owners)
    for owner, letter in letters.items():
        name = shown(names.get(owner, str(owner)), 40)
        lines.append(f"{letter} = {name}: {counts[owner]} partitions")
    if counts[None]:
        lines.append(f"{_UNOWNED} = no owner: {counts[None]} partitions")
    return lines


def _letters_of(owners: Sequence[Any]) -> dict[Any, str]:
    """Return a letter for each owner; owners beyond the alphabet share one mark."""
    distinct = sorted(set(owners), key=str)
    return {
        owner: _LETTERS[number] if number < len(_LETTERS) else _MANY
        for number, owner in enumerate(distinct)
    }
