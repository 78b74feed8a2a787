"""The Celery beat scheduler class: hosts the engine's loop, owns partitions by database lease.

It extends django-celery-beat's scheduler, whose entries do the housekeeping; tasks of users never
go through beat's due test. Signals set a flag and wake the loop: Celery's own handler raises
SystemExit anywhere, also between claim and publish.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import time
from typing import Any, cast

import psycopg
from celery.signals import beat_init
from django.db import DatabaseError, connections
from django_celery_beat.schedulers import DatabaseScheduler

from executions.broker import AT_ONCE, CHECK_ZONES, probe, publish, publish_system_job
from executions.changes import ending_pauses, failing
from executions.dependencies import stage as dependencies
from executions.dispatch.stage import Dispatcher
from executions.gate import keys
from executions.gate import stage as gate
from executions.housekeeping import worker_history
from executions.ledger import days, totals
from executions.loop.clocks import database_now
from executions.loop.counts import Counts
from executions.loop.lower_bounds import LowerBounds
from executions.materialize import stage as materialize
from executions.ownership.partitions import Partitions
from executions.rescue.stage import Rescuer
from executions.run_signals import scheduler_starts
from shared.conf import conf
from shared.loop import Agenda, Stage
from shared.notify import Listener, next_look_is_late
from tenants.services import active_signing_secrets

log = logging.getLogger(__name__)

#: The holder of this partition fires the housekeeping entries.
_HOUSEKEEPING_PARTITION = 0
_HOUSEKEEPING_SECONDS = 5.0
_DAYS_SECONDS = 3600.0
_FOLD_SECONDS = 5.0
#: Stages that look for work which another process may have made, in their order.
_WOKEN = ("materialize", "gate", "workflows", "dispatch")


class PunctualScheduler(DatabaseScheduler):
    """Runs the stages of the loop from ``tick``; sleeps until the next is due or a wake-up."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if kwargs.get("lazy"):
            return
        self.partitions = Partitions()
        self._dispatcher = Dispatcher(self.partitions, publish, active_signing_secrets, probe)
        self._rescuer = Rescuer(self.partitions)
        self._seen_at_gate = gate.Seen()
        self._seen_keys = keys.Seen()
        self._due_tasks = LowerBounds()
        self._due_work = self._dispatcher.rooms.bounds
        self._listener: Listener | None = None
        self._stopping = False
        self._zones_asked = False
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK)
        self._agenda = Agenda(
            [
                Stage("days", self._days),
                # Its lease must be renewed even if the other stages take long.
                Stage("partitions", self._partitions, urgent=True),
                Stage("resume", self._resume),
                Stage("failing", self._failing),
                Stage("dependencies", self._dependencies),
                Stage("materialize", self._materialize),
                Stage("gate", self._gate),
                *self._of_other_rooms(),
                Stage("dispatch", self._dispatch),
                Stage("rescue", self._rescue),
                Stage("workers", self._workers),
                Stage("totals", self._totals),
                Stage("housekeeping", self._housekeeping),
            ],
            on_error=connections.close_all,
        )
        beat_init.connect(self._take_signals, weak=False)

    def _of_other_rooms(self) -> list[Stage]:
        """Return the stages that rooms above the ledger add to the loop."""
        answers = scheduler_starts.send(sender=None, partitions=self.partitions)
        return [stage for _, stages in answers for stage in cast(list[Stage], stages)]

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Run what is due, then wait for time, a notification or a signal; never sleeps in beat."""
        if self._stopping:
            self._stop()
        self._wait(self._agenda.run_due())
        return 0.0

    def _partitions(self) -> float:
        before = set(self.partitions.held)
        wait = self.partitions.run_once()
        if set(self.partitions.held) != before:
            log.info("partitions.changed", extra={"count": len(self.partitions.held)})
            self._agenda.hurry(*_WOKEN, "rescue")
        elif self.partitions.neglected:
            self._agenda.hurry("materialize")
        return wait

    def _materialize(self) -> float:
        counts = materialize.run_once(self.partitions, self._due_tasks)
        self._note_written(counts)
        if counts.done and next_look_is_late(counts.due_in):
            self._agenda.hurry("gate", "workflows", "dispatch")
        return counts.next_in

    def _gate(self) -> float:
        at_gate = gate.run_once(self.partitions, self._seen_at_gate)
        gate_due = time.monotonic() + at_gate.next_in
        # Behind the gate: what it has admitted may wait for its key.
        of_keys = keys.run_once(self.partitions, self._seen_keys)
        for counts in (at_gate, of_keys):
            self._note_written(counts)
        if at_gate.done or of_keys.done:
            self._agenda.hurry("workflows", "dispatch")
        return min(max(0.0, gate_due - time.monotonic()), of_keys.next_in)

    def _dispatch(self) -> float:
        counts = self._dispatcher.run_once()
        if counts.done:
            # Rescue rests while workers have no work.
            self._agenda.hurry("rescue", within=1.0)
        return counts.next_in

    def _rescue(self) -> float:
        counts = self._rescuer.run_once()
        self._note_written(counts)
        if counts.done:
            self._due_work.heard()
            self._agenda.hurry("dispatch")
        if self.partitions.neglected:
            # An outage made the returned work late: judge it before any work is released.
            self._agenda.hurry(*_WOKEN)
        return counts.next_in

    def _note_written(self, counts: Counts) -> None:
        if counts.first is not None:
            self._due_work.lower(counts.first)

    def _look_at_everything(self) -> None:
        self._due_tasks.forget()
        self._due_work.forget()

    def _resume(self) -> float:
        counts = ending_pauses.run_once(self.partitions)
        if counts.done:
            self._look_at_everything()
            self._agenda.hurry(*_WOKEN)
        return counts.next_in

    def _failing(self) -> float:
        return failing.run_once(self.partitions).next_in

    def _dependencies(self) -> float:
        counts = dependencies.run_once(self.partitions)
        if counts.first is not None:
            self._due_tasks.lower(counts.first)
            self._agenda.hurry(*_WOKEN)
        return counts.next_in

    def _workers(self) -> float:
        return worker_history.run_once(self.partitions).next_in

    def _totals(self) -> float:
        held = _HOUSEKEEPING_PARTITION in self.partitions.held
        # More wait where no scheduler has folded for long.
        return 0.0 if held and totals.fold() == totals.MOST_FOLDED else _FOLD_SECONDS

    @staticmethod
    def _days() -> float:
        days.ensure_days_ahead(database_now())
        return _DAYS_SECONDS

    def _housekeeping(self) -> float:
        if _HOUSEKEEPING_PARTITION in self.partitions.held:
            super().tick()
            self._check_zones_once()
        return _HOUSEKEEPING_SECONDS

    def _check_zones_once(self) -> None:
        """Ask for a check at the start, which may bring a new zone database; then daily."""
        if not self._zones_asked:
            publish_system_job(CHECK_ZONES)
            self._zones_asked = True

    def _ensure_connected(self) -> Any:
        """Leave connecting to the publisher, which tries at once or not at all.

        Beat itself would wait minutes for a broker and lose the partitions meanwhile.
        """
        connection = self.connection
        connection.transport_options = {**connection.transport_options, **AT_ONCE}
        return connection

    def _wait(self, seconds: float) -> None:
        sources: list[Any] = [self._wake_read]
        if self._listen():
            sources.append(self._listener)
        readable, _, _ = select.select(
            sources, [], [], min(seconds, conf().scheduler_sleep_seconds)
        )
        if self._listener in readable:
            self._hear()
        if self._wake_read in readable:
            os.read(self._wake_read, 512)

    def _listen(self) -> bool:
        """Open a session that hears wake-ups; without one the regular look still finds all work."""
        if self._listener is None:
            try:
                self._listener = Listener()
            except psycopg.Error as error:
                log.warning("listener.not_opened", extra={"reason": str(error)})
                return False
            self._look_at_everything()
            self._agenda.hurry(*_WOKEN)
        return True

    def _hear(self) -> None:
        listener = self._listener
        if listener is None:
            return
        try:
            wake = listener.drain()
            if wake is not None:
                self._due_work.heard(wake.first)
                if not wake.stage:
                    self._due_tasks.heard(wake.first)
                stages = (wake.stage,) if wake.stage else _WOKEN
                self._agenda.hurry(*stages, within=wake.within)
        except psycopg.Error as error:
            log.warning("listener.lost", extra={"reason": str(error)})
            listener.close()
            self._listener = None

    def _take_signals(self, **_: object) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask_to_stop)

    def _ask_to_stop(self, number: int, _: object) -> None:
        if self._stopping:
            raise SystemExit(128 + number)  # the second signal ends it at once
        self._stopping = True
        os.write(self._wake_write, b"x")

    def _stop(self) -> None:
        """Release the partitions, so that others take over before the leases end."""
        log.info("scheduler.stopped", extra={"count": len(self.partitions.held)})
        try:
            self.partitions.release_all()
        except DatabaseError as error:
            # The database takes no release now; the leases end by themselves.
            log.warning("partitions.not_released", extra={"reason": str(error)})
        raise SystemExit(0)
