"""Circuits: when they open, what closes them, what is known of the last minute."""

from __future__ import annotations

import logging

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from executions.dispatch import circuits
from executions.dispatch.circuits import Circuit
from executions.loop.clocks import ClockOffset
from shared.redis_client import client
from tests.support.log_lines import lines_of
from tests.support.scripts import HOST, Moved
from wire import start_guard
from wire.destination_key import tenant_and_host

pytestmark = pytest.mark.usefixtures("django_db_modify_db_settings")

LEAST, OPEN_MS = 20, 30_000


def test_it_opens_over_half_failures_of_twenty_calls():
    redis = Moved()

    assert redis.report(19, 19) == [""]
    assert redis.report(1, 0) == [""]
    # Judged with the next failure.
    assert redis.report(1, 1) == [HOST, ""]


def test_half_failures_do_not_open_it():
    assert Moved().report(100, 50) == [""]


def test_failures_of_an_earlier_minute_do_not_count():
    redis = Moved()
    redis.report(19, 19)

    redis.at = 60_000
    assert redis.report(1, 1) == [""]


def test_a_destination_without_a_breaker_stays_closed():
    assert Moved().report(100, 100, breaker=False) == [""]


def test_a_breaker_that_was_just_turned_off_or_on_counts_before_what_workers_hold():
    circuits.announce_limits(HOST, "0,,")
    assert Moved().report(20, 20) == [""]

    circuits.announce_limits(HOST, "")
    assert Moved().report(1, 1, breaker=False) == [HOST, ""]


def test_late_failures_of_an_open_circuit_do_not_prolong_it():
    redis = Moved()
    redis.report(20, 20)

    redis.at = 10_000
    redis.report(20, 20)
    redis.at = OPEN_MS
    assert redis.ask(1) == [start_guard.PROBE]


def test_the_probe_that_succeeds_closes_it_and_the_minute_begins_anew():
    redis = Moved()
    redis.report(20, 20)
    redis.at = OPEN_MS
    redis.ask(1)

    assert redis.report(1, 0, probe=1, verdict="1") == ["", HOST]
    assert redis.ask(2, 3) == [start_guard.GO, start_guard.GO]
    assert redis.report(18, 18) == [""]


def test_the_probe_that_fails_opens_it_again():
    redis = Moved()
    redis.report(20, 20)
    redis.at = OPEN_MS
    redis.ask(1)

    assert redis.report(1, 1, probe=1, verdict="0") == [HOST, ""]
    assert redis.ask(2) == [[start_guard.CIRCUIT_OPEN, redis.now + OPEN_MS]]


def test_a_probe_that_says_nothing_lets_another_go():
    redis = Moved()
    redis.report(20, 20)
    redis.at = OPEN_MS
    redis.ask(1)

    assert redis.report(probe=1) == [""]
    assert redis.ask(2) == [start_guard.PROBE]


def test_only_the_probe_of_now_is_believed():
    redis = Moved()
    redis.report(20, 20)
    redis.at = OPEN_MS
    redis.ask(7)

    assert redis.report(1, 0, probe=6, verdict="1") == [""]
    assert redis.ask(8) == [[start_guard.CIRCUIT_OPEN, redis.now + 35_000]]


class Breaker(RuleBasedStateMachine):
    """The circuit against a model of it: a list of calls and a state."""

    def __init__(self) -> None:
        super().__init__()
        client().flushall()
        self.redis = Moved()
        self.calls: list[tuple[int, int, int]] = []
        self.open_until: int | None = None
        self.probe: int | None = None
        self.probe_until = 0
        self.token = 0

    def _bucket(self) -> int:
        return self.redis.now // 10_000

    @rule(passed=st.sampled_from([0, 500, 4_000, 15_000, 31_000, 70_000]))
    def wait(self, passed: int) -> None:
        self.redis.at += passed

    @rule(calls=st.integers(1, 30), share=st.sampled_from([0.0, 0.3, 0.5, 0.6, 1.0]))
    def report(self, calls: int, share: float) -> None:
        failures = int(calls * share)
        self.redis.report(calls, failures)
        self.calls.append((self._bucket(), calls, failures))
        if failures and self.open_until is None:
            found = [row for row in self.calls if row[0] > self._bucket() - 6]
            total, failed = sum(row[1] for row in found), sum(row[2] for row in found)
            if total >= LEAST and failed * 2 > total:
                self.open_until, self.probe = self.redis.now + OPEN_MS, None

    @rule()
    def ask(self) -> None:
        self.token += 1
        [verdict] = self.redis.ask(self.token, runtime_ms=10_000)
        if self.open_until is None:
            assert verdict == start_guard.GO
        elif self.redis.now < self.open_until:
            assert verdict == [start_guard.CIRCUIT_OPEN, self.open_until]
        elif self.probe is not None and self.redis.now < self.probe_until:
            assert verdict == [start_guard.CIRCUIT_OPEN, self.probe_until]
        else:
            assert verdict == start_guard.PROBE
            self.probe, self.probe_until = self.token, self.redis.now + 15_000

    @precondition(lambda self: self.probe is not None)
    @rule(verdict=st.sampled_from(["0", "1", ""]))
    def end_probe(self, verdict: str) -> None:
        self.redis.report(probe=self.probe or 0, verdict=verdict)
        self.probe = None
        if verdict == "1":
            self.open_until, self.calls = None, []
        elif verdict == "0":
            self.open_until = self.redis.now + OPEN_MS

    @invariant()
    def stands_as_the_model(self) -> None:
        answer = self.redis.run("standing", [], ["", HOST])
        _, open_until, _, _, _, _, calls, failures = answer[1]
        assert open_until == (self.open_until or 0)
        found = [row for row in self.calls if row[0] > self._bucket() - 6]
        assert (calls, failures) == (sum(r[1] for r in found), sum(r[2] for r in found))


TestBreaker = Breaker.TestCase
TestBreaker.settings = settings(max_examples=40, stateful_step_count=30)


# --- reading it ----------------------------------------------------------------------------------


def test_nothing_is_asked_for_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(circuits, "client", lambda: pytest.fail("asked"))

    assert circuits.standing([]) == {}


def test_what_nobody_has_called_is_closed():
    found = circuits.standing([HOST])[HOST]

    assert (found.state, found.calls, found.failures, found.until) == ("closed", 0, 0, 0.0)


def test_the_conspicuous_are_found_without_their_names():
    redis = Moved()
    redis.at = int(client().time()[0] * 1000 - redis.now)
    redis.report(20, 20)
    redis.report(waited=True, destination=f"{HOST}:8080")
    redis.report(5, 0, destination=f"{HOST}:9090")

    found = circuits.standing([], lately=True)

    assert set(found) == {HOST, f"{HOST}:8080"}
    assert found[HOST].state == "open"
    assert (found[HOST].calls, found[HOST].failures) == (20, 20)
    assert found[f"{HOST}:8080"].waited


@pytest.mark.parametrize(
    ("open_until", "probe_until", "state", "until"),
    [(0.0, 0.0, "closed", 0.0), (15.0, 0.0, "open", 15.0), (9.0, 0.0, "half_open", 0.0),
     (9.0, 12.0, "half_open", 12.0)],
)  # fmt: skip
def test_the_state_follows_from_the_moments(open_until, probe_until, state, until):
    found = Circuit(10.0, open_until, probe_until)

    assert (found.state, found.until) == (state, until)


def test_forgetting_closes_the_circuit_and_empties_the_minute(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO)
    redis = Moved()
    redis.report(20, 20)

    circuits.forget(HOST)
    circuits.forget(HOST)

    assert redis.ask(1) == [start_guard.GO]
    assert redis.run("standing", [], ["", HOST])[1][6:] == [0, 0]
    tenant, host = tenant_and_host(HOST)
    assert lines_of(caplog, "circuit.closed") == [{"tenant_id": str(tenant), "destination": host}]


def test_a_changed_rate_counts_at_once():
    redis = Moved()
    redis.ask(1, limits="1,,0.01")

    circuits.announce_limits(HOST, "1,,100")

    assert redis.ask(2, limits="1,,100") == [start_guard.GO]


@pytest.mark.django_db
def test_moments_are_told_by_the_database_clock():
    offset = ClockOffset()
    assert circuits.on_database_clock(0.0, offset) is None
    found = circuits.on_database_clock(1000.0, offset)

    assert found is not None
    assert found.timestamp() == pytest.approx(1000.0 - offset.at_least(), abs=0.01)
