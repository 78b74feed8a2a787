"""Bugs of who owns a partition, and until when; see :mod:`bench.mutation_list`."""

from __future__ import annotations

from bench.mutation import one

_TESTS = ("tests/executions/ownership/test_partitions.py",)
_LEASES = "executions/sql/leases.sql"
_PARTITIONS = "executions/ownership/partitions.py"

LEASES = (
    one(
        "epoch-renew",
        "a partition is kept under an epoch that is over",
        _TESTS,
        _PARTITIONS,
        "if valid and e == self._held.get(p)",
        "if valid and p in self._held",
    ),
    one(
        "owner-renew",
        "a partition of another owner is kept",
        _TESTS,
        _LEASES,
        "l.owner = %(node)s AND ",
        "",
        "-- name: owned\n",
    ),
    one(
        "lapsed-renew",
        "a lease that has run out is renewed",
        _TESTS,
        _LEASES,
        "CASE WHEN scheduler_nodes.lease_expires_at > now()",
        "CASE WHEN true",
    ),
    one(
        "lapsed-takes",
        "partitions are taken and the lease has run out all the same",
        _TESTS,
        _LEASES,
        "WHERE n.id = %(node)s AND n.lease_expires_at <= now()",
        "WHERE false",
    ),
    one(
        "unknown-stays",
        "what it owns and does not know of stays so",
        _TESTS,
        _PARTITIONS,
        "(share | owned.keys()) - renewed.keys()",
        "share - renewed.keys()",
    ),
    one(
        "epoch-release",
        "a lease is given up under an epoch that is over",
        _TESTS,
        _LEASES,
        "l.epoch = (%(epochs)s::bigint[])[l.partition + 1]",
        "(%(epochs)s::bigint[])[l.partition + 1] IS NOT NULL",
        "-- name: release\n",
    ),
    one(
        "epoch-stays",
        "a takeover does not raise the epoch",
        _TESTS,
        _LEASES,
        "epoch = l.epoch + 1",
        "epoch = l.epoch",
    ),
    one(
        "trust-from-the-end",
        "the trust in a lease counts from the end of the renewing call",
        _TESTS,
        _PARTITIONS,
        "self._trusted_until = started + ttl",
        "self._trusted_until = time.monotonic() + ttl",
    ),
    one(
        "renewed-in-turn",
        "a lease is renewed only after all stages that are due",
        ("tests/executions/test_beat.py",),
        "executions/beat.py",
        "urgent=True",
        "urgent=False",
    ),
    one(
        "outage-below",
        "what an outage gave back is looked for behind where the last look ended",
        ("tests/executions/materialize/test_unowned_work.py",),
        "executions/materialize/unowned_work.py",
        "bounds.lower(min(since if first is None else [*since, first]))",
        "pass",
    ),
)
