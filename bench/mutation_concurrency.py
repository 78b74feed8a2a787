"""The bugs that :mod:`bench.mutations` plants in concurrency keys and in the limits of tenants."""

from __future__ import annotations

from bench.mutation import one

_KEYS = "tests/executions/gate/test_keys.py"
_RACE = "tests/concurrency/test_key_race.py"
_GUARD = "tests/wire/test_start_guard_tenants.py"
_SQL = "executions/sql/keys.sql"

CONCURRENCY = (
    one(
        "keys-fifo-ignores-retries",
        "work in strict order gives its place back while it waits for its retry",
        (_KEYS,),
        _SQL,
        "WHEN o.fifo THEN 2 ELSE 1 END",
        "ELSE 1 END",
    ),
    one(
        "keys-any-keeps-places",
        "a failed attempt keeps its place of the key until the retry",
        (_KEYS,),
        "executions/sql/complete.sql",
        "key_place = CASE WHEN e.key_place = 1 THEN -e.held::integer ELSE e.key_place END",
        "key_place = e.key_place",
        "-- name: try_again\n",
    ),
    one(
        "keys-passed",
        "work whose number allows more passes the first one of the key",
        (_KEYS,),
        "executions/gate/keys.py",
        "        if taken + len(found) >= one.most:\n            break\n",
        "        if taken + len(found) >= one.most:\n            continue\n",
    ),
    one(
        "keys-locked-passed",
        "a first one that another session changes is passed by",
        (_RACE,),
        "executions/gate/keys.py",
        "                    self._look_in(_TAKEN_SECONDS)\n                    break\n",
        "                    self._look_in(_TAKEN_SECONDS)\n                    continue\n",
    ),
    one(
        "keys-unlocked",
        "two schedulers count the places of a key at once",
        (_RACE,),
        _SQL,
        "WHERE pg_try_advisory_xact_lock(hashtextextended(",
        "WHERE true OR pg_try_advisory_xact_lock(hashtextextended(",
    ),
    one(
        "keys-resumed",
        "a resume frees work that waits for its key",
        (_KEYS,),
        "executions/sql/changing.sql",
        "OR coalesce(e.key_place <= 0, false)\n",
        "OR coalesce(e.key_place < 0 AND %(held)s, false)\n",
        "-- name: hold\n",
    ),
    one(
        "tenant-places-forgotten",
        "the start guard forgets the places of the tenant",
        (_GUARD,),
        "wire/lua/start.lua",
        "local placed = tenant and started(tenant, token, runtime) or GO",
        "local placed = GO",
    ),
    one(
        "tenant-slot-apart",
        "a start takes no slot of its tenant's rate",
        (_GUARD,),
        "wire/lua/refusals.lua",
        "    tenant.free = free + 1000 / tenant.rate\n",
        "",
    ),
)
