"""Bugs of the shares of tenants; see :mod:`bench.mutation_list`."""

from __future__ import annotations

from bench.mutation import one

_TESTS = ("tests/executions/dispatch/shares/test_by_shares.py",)
_LEVELS = ("tests/executions/dispatch/shares/test_levels.py",)
_BY_SHARES = "executions/dispatch/shares/by_shares.py"
_SQL = "executions/sql/dispatch.sql"

SHARES = (
    one(
        "one-round",
        "what a tenant does not need goes to no other in the same pass",
        _TESTS,
        _BY_SHARES,
        "_ROUNDS = 2",
        "_ROUNDS = 1",
    ),
    one(
        "levels-forgotten",
        "single places go to the same tenant each time",
        _TESTS,
        _BY_SHARES,
        "found.received[tenant] = before + count / known.get(tenant, DEFAULT_WEIGHT)",
        "found.received[tenant] = before",
    ),
    one(
        "leased-ignored",
        "work in the workers' hands does not count for a tenant's level",
        _LEVELS,
        "executions/dispatch/shares/levels.py",
        "return self.leased / self.weight",
        "return 0.0",
    ),
    one(
        "ready-ignored",
        "work is claimed of a partition that waits for its misfire policy",
        _TESTS,
        _SQL,
        "WHERE u.partition = l.partition AND NOT u.judged",
        "WHERE u.partition = l.partition AND false",
        "-- part: ready\n",
    ),
    one(
        "owner-ignored",
        "work is claimed of a partition that no scheduler owns",
        _TESTS,
        _SQL,
        "coalesce(least(l.expires_at, s.lease_expires_at) > now(), false)",
        "true",
        "-- part: ready\n",
    ),
    one(
        "no-tenth",
        "no place goes to a tenant's oldest work",
        _TESTS,
        _BY_SHARES,
        "self._tenths.of((found.name, tenant), most) if mixed else 0",
        "0",
    ),
    one(
        "weight-ignored",
        "all tenants count alike",
        _TESTS,
        _BY_SHARES,
        "                known.get(tenant, DEFAULT_WEIGHT),\n",
        "                DEFAULT_WEIGHT,\n",
    ),
    one(
        "pace-ignored",
        "slow work of a tenant may fill the hold",
        _TESTS,
        _BY_SHARES,
        "limits = self.paces.most(pool, capacity, in_hand)",
        "limits: dict[UUID, int] = {}",
    ),
    one(
        "unsent-forgotten",
        "what a lost scheduler claimed of others' partitions waits for the end of its lease",
        ("tests/executions/rescue/test_unsent_work.py",),
        "executions/rescue/stage.py",
        "unsent_since, unsent_until = self.partitions.unsent or (None, None)",
        "unsent_since, unsent_until = (None, None)",
    ),
)
