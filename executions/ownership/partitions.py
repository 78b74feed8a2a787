"""The partitions that this scheduler owns, and their epochs.

Every scheduler computes the same fair share by rendezvous hashing over the live nodes, so that a
node that joins or leaves moves only its own share. Ownership is a row in the database with a
rising epoch; every write of the scheduler names owner and epoch. It lasts as long as the lease of
its owner, a single lease for all its partitions.
"""

from __future__ import annotations

import hashlib
import logging
import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import NamedTuple
from uuid import UUID, uuid4

from executions.ledger import totals
from executions.loop import refusals
from shared.conf import conf
from shared.notify import wake_schedulers_now
from shared.redis_client import ConnectionFailed
from shared.sql import rows, run, together
from shared.sql_arrays import of_integers

log = logging.getLogger("executions.engine.partitions")

#: A partition without a scheduler for less time had no outage: it was handed over.
OUTAGE_SECONDS = 1.0
#: A restart of Redis takes less time, and affects all schedulers alike.
CUT_OFF_AFTER_SECONDS = 5.0
#: From a claim to the moment when its sending has succeeded or failed, at most.
_PASS_SECONDS = 5.0


def fair_share(node: UUID, live: Sequence[UUID], count: int) -> set[int]:
    """Return the partitions of a node: the ones where it has the highest hash of all live nodes."""
    return {
        partition
        for partition in range(count)
        if max(live, key=lambda other: (_weight(other, partition), other)) == node
    }


def _weight(node: UUID, partition: int) -> bytes:
    return hashlib.blake2b(node.bytes + partition.to_bytes(2, "big"), digest_size=8).digest()


class Unowned(NamedTuple):
    """A stretch of time in which a partition had no scheduler."""

    since: datetime
    until: datetime


class Partitions:
    """The leases of one scheduler process.

    ``held`` are the partitions that may be written to. They are trusted only until a lease's length
    after the start of the last renewing call: a call that took long must not prolong the trust.
    ``unowned`` maps partitions to the last stretch in which they had no scheduler. ``neglected``
    has the ones whose prepared work has not been judged since; none of it is released until
    :mod:`~executions.materialize.unowned_work` has judged it. ``inherited`` maps partitions of a
    lost scheduler to the moment of the takeover: it may not have sent its last claims. In the
    stretch of time ``unsent`` a lost scheduler may have claimed work of any partition without
    sending it.
    """

    def __init__(self, node: UUID | None = None) -> None:
        self.node = node or uuid4()
        self.name = os.environ.get("PROCESS_NAME", "scheduler") + "@" + socket.gethostname()
        self.unowned: dict[int, Unowned] = {}
        self.neglected: dict[int, Unowned] = {}
        self.inherited: dict[int, datetime] = {}
        self.unsent: tuple[datetime, datetime] | None = None
        self._held: dict[int, int] = {}
        self._share: tuple[tuple[UUID, ...], set[int]] = ((), set())
        self._trusted_until = float("-inf")
        self._cut_off_since: float | None = None
        self._redis_failures = 0

    @property
    def held(self) -> dict[int, int]:
        """Return partition -> epoch of the owned partitions that are still trusted."""
        return self._held if time.monotonic() < self._trusted_until else {}

    @property
    def ready(self) -> list[int]:
        """Return the owned partitions whose work may be released."""
        return [partition for partition in self.held if partition not in self.neglected]

    def parameters(self, held: Mapping[int, int] | None = None) -> dict[str, object]:
        """Return the statement parameters that prove ownership, of all or some owned partitions.

        ``epochs`` has the epoch of each at the place of its partition.
        """
        held = self.held if held is None else held
        epochs: list[int | None] = [None] * (max(held, default=-1) + 1)
        for partition, epoch in held.items():
            epochs[partition] = epoch
        return {
            "node": self.node,
            "partitions": of_integers(held),
            "epochs": of_integers(epochs),
        }

    def run_once(self) -> float:
        """Beat, renew, release and take; return the seconds until the next call."""
        ttl = conf().partition_lease_seconds
        started = time.monotonic()
        valid, share, owned, unjudged = self._beat(ttl)
        renewed = {p: e for p, e in owned.items() if valid and e == self._held.get(p)}
        taken: dict[int, int] = {}
        # Including partitions that it owns in the database but not in ``held``: no other scheduler
        # can take them while this one renews its lease.
        if missing := (share | owned.keys()) - renewed.keys():
            taken = self._acquire(sorted(missing), ttl)
        kept = renewed | taken
        surplus = {p: epoch for p, epoch in kept.items() if p not in share}
        if surplus:
            # Without Redis it may have claimed work that it could neither send nor hand back: the
            # next owner of such partitions looks for that at once, as after a crash.
            given_up = "leases/release" if self._reaches_redis else "leases/hand_over"
            run(given_up, self.parameters(surplus))
            kept = {p: epoch for p, epoch in kept.items() if p in share}
        lost = len(self._held.keys() - renewed.keys())
        self._held = kept
        self.unowned = {p: found for p, found in self.unowned.items() if p in kept}
        # Also what another process has noted since this one took the partition, such as one that
        # owned it before: no scheduler would claim of it, and none would judge it.
        known = {p: found for p, found in unjudged.items() if p in renewed} | self.neglected
        self.neglected = {p: found for p, found in known.items() if p in kept}
        self.inherited = {p: since for p, since in self.inherited.items() if p in kept}
        self._trusted_until = started + ttl - 1.0
        refusals.note(refusals.LEASES, lost)
        return self._next_call(share - kept.keys())

    @contextmanager
    def using_redis(self, probe: Callable[[], None]) -> Iterator[None]:
        """Note whether the block reaches Redis: it does not where ConnectionFailed escapes.

        After a failure ``probe()`` decides, which raises unless a message could be handed over: a
        Redis that answers reads may still refuse messages.
        """
        failures = self._redis_failures
        try:
            if self._cut_off_since is not None:
                probe()
            yield
        except ConnectionFailed:
            self.note_redis(reached=False)
            raise
        if self._redis_failures == failures:
            self.note_redis(reached=True)

    def judge_again(self, came_back: Iterable[tuple[int, datetime]]) -> None:
        """Note returned work, by partition and due time: an outage may have made it late.

        Call it in the transaction that returns the work: no scheduler may claim it unjudged.
        """
        found: dict[int, Unowned] = {}
        for partition, due_at in came_back:
            unowned = self.unowned.get(partition)
            if unowned is not None and unowned.since <= due_at < unowned.until:
                found[partition] = unowned
        if found:
            until = [stretch.until for stretch in found.values()]
            run("leases/judge_again", {"partitions": list(found), "until": until})
            self.neglected |= found

    def note_redis(self, *, reached: bool) -> None:
        """Note whether Redis was reached just now: without it this scheduler cannot send work."""
        if reached:
            self._cut_off_since = None
            return
        self._redis_failures += 1
        if self._cut_off_since is None:
            self._cut_off_since = time.monotonic()

    @property
    def _reaches_redis(self) -> bool:
        since = self._cut_off_since
        return since is None or time.monotonic() - since < CUT_OFF_AFTER_SECONDS

    def release_all(self) -> None:
        """Release all partitions at once, for a warm stop."""
        run("leases/release_all", {"node": self.node})
        run("leases/drop_node", {"node": self.node})
        self._held = {}
        self.unowned, self.neglected, self.inherited, self.unsent = {}, {}, {}, None
        wake_schedulers_now()

    def _beat(self, ttl: float) -> tuple[bool, set[int], dict[int, int], dict[int, Unowned]]:
        """Renew the lease; return whether it was valid, the fair share, and the owned partitions.

        The owned partitions are a map of partition to epoch, as the database has it. The last are
        the ones among them that wait to be judged.
        """
        node = {"node": self.node, "name": self.name, "pid": os.getpid(), "ttl": ttl}
        beat, found, owned, unjudged = together(
            ("leases/beat_node", {**node, "reaches_redis": self._reaches_redis}),
            ("leases/live_nodes", {"ttl": ttl}),
            ("leases/owned", {"node": self.node}),
            ("leases/unjudged", {"node": self.node}),
        )
        live = tuple(row[0] for row in found.rows)
        if live != self._share[0]:
            self._note_lost(set(self._share[0]) - set(live))
            self._share = (live, fair_share(self.node, live, conf().partition_count))
        waiting = {partition: Unowned(*stretch) for partition, *stretch in unjudged.rows}
        return beat.rows[0][0], self._share[1], dict(owned.rows), waiting

    def _note_lost(self, gone: set[UUID]) -> None:
        """Note when lost schedulers may have claimed work that they did not send."""
        if not gone:
            return
        # One that lost Redis goes on with its heartbeat, and is cut off after a while. Its next
        # heartbeat says so, and this scheduler reads that with its own next one.
        before = _PASS_SECONDS + CUT_OFF_AFTER_SECONDS + 2 * conf().partition_renew_seconds
        [(since, now)] = rows("leases/lost_since", {"nodes": list(gone), "before": before})
        if since is not None:
            first = self.unsent[0] if self.unsent else since
            self.unsent = (min(since, first), now)

    def _acquire(self, wanted: Iterable[int], ttl: float) -> dict[int, int]:
        parameters = {"node": self.node, "partitions": list(wanted), "ttl": ttl}
        named = {"name": self.name, "outage": OUTAGE_SECONDS}
        taken = rows("leases/acquire", {**parameters, **named})
        over = {partition: now for partition, _, now, inherited in taken if inherited}
        self.inherited |= over
        if over:
            log.warning(
                "partition.taken_over",
                extra={"scheduler": self.name, "count": len(over), "partitions": sorted(over)},
            )
        if taken:
            run("leases/drop_dead_nodes")
            totals.add({totals.EXPIRED_PARTITIONS: sum(row[3] for row in taken)})
            asked = {"partitions": [partition for partition, *_ in taken]}
            for partition, since, until, unjudged_since in rows("leases/unowned", asked):
                self.unowned[partition] = Unowned(since, until)
                if unjudged_since:
                    self.neglected[partition] = Unowned(unjudged_since, until)
        return {partition: epoch for partition, epoch, *_ in taken}

    def _next_call(self, missing: set[int]) -> float:
        interval = conf().partition_renew_seconds
        if not missing:
            return interval
        expiry = rows("leases/next_expiry", {"node": self.node, "partitions": list(missing)})[0][0]
        return interval if expiry is None else min(interval, max(0.02, expiry + 0.005))
