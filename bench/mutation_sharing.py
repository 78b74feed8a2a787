"""Bugs of how a worker is shared between tenants; see :mod:`bench.mutation_list`."""

from __future__ import annotations

from bench.mutation import one

_ORDER = ("tests/shared/test_fair_order.py",)
_SLOTS = ("tests/shared/test_fair_slots.py",)
_LANES = ("tests/worker/test_lanes.py",)

SHARING = (
    one(
        "share-catches-up",
        "a tenant that comes catches up on the time in which it had no work",
        _ORDER,
        "shared/fair_order.py",
        "heappush(self._heap, (self._level, next(self._numbers), mine))",
        "heappush(self._heap, (0.0, next(self._numbers), mine))",
    ),
    one(
        "share-uncounted",
        "a start does not count for its tenant",
        _ORDER,
        "shared/fair_order.py",
        "(level + mine.step, next(self._numbers), mine)",
        "(level, next(self._numbers), mine)",
    ),
    one(
        "share-unbounded-credit",
        "a tenant that long work has kept out takes all slots when it ends",
        _ORDER,
        "shared/fair_order.py",
        "(max(level, least), number, mine)",
        "(level, number, mine)",
    ),
    one(
        "share-of-one-weight",
        "every tenant has the same weight in a worker",
        _LANES,
        "worker/entries.py",
        "self.step = 1.0 / weight_of(entry)",
        "self.step = 1.0",
    ),
    one(
        "share-without-others",
        "a destination takes every slot where no other tenant has waiting work",
        _LANES,
        "worker/lanes.py",
        "if others <= 0.0:",
        "if others < 0.0:",
    ),
    one(
        "slots-none-kept",
        "long work of one tenant takes every slot",
        (*_LANES, "tests/shared/test_slot_shares.py"),
        "shared/slot_shares.py",
        "return now - others_at > self._alone_after",
        "return True",
    ),
    one(
        "slots-of-processes",
        "programs of one tenant that wait for a process take every slot",
        _LANES,
        "worker/entries.py",
        'self.lane, self.process = f"{self.tenant}#{kind}", kind',
        "self.process = kind",
    ),
    one(
        "slot-lost",
        "a slot is lost with a caller that leaves as its turn comes",
        _SLOTS,
        "shared/fair_slots.py",
        "            else:\n                self._give_back(caller.tenant)\n            raise",
        "            raise",
    ),
    one(
        "lookup-in-one-queue",
        "a name waits in the queue of another tenant's names",
        ("tests/delivery/test_address_guard.py",),
        "delivery/address_guard.py",
        "self._lookups.answer((tenant, host), tenant, ask)",
        'self._lookups.answer(("", host), tenant, ask)',
    ),
)
