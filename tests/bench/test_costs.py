from __future__ import annotations

import http.client
import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import TimeoutExpired
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from bench import costs
from bench.costs import CREATE, PREPARE, RUN, Meter, Stage, counting, lines_of, main, measure
from bench.installation import InstallationError
from bench.peers import target
from bench.peers.contender import CouldNotRunError, Recorded
from bench.peers.figures import TARGET
from bench.peers.plan import Plan
from bench.peers.punctual import Punctual
from bench.processes import Usage
from shared.conf import Conf

DEAREST = ("UPDATE executions", 30, 60_000, 120.0)
TOLD = Stage(RUN, 12.3, {"worker": 90.0, TARGET: 40.0, "postgresql": 60.04, "web": 0.04})


class Session:
    """A session that keeps what it is asked, answers by what it is, and may refuse."""

    def __init__(self, answers: dict[str, Any], refuses: str = "") -> None:
        self.asked: list[str] = []
        self.closed = False
        self._answers = answers
        self._refuses = refuses

    def execute(self, query: str | bytes, values: tuple[Any, ...] = ()) -> Session:
        text = query.decode() if isinstance(query, bytes) else query
        self.asked.append(text)
        if self._refuses and text.startswith(self._refuses):
            raise psycopg.errors.ObjectNotInPrerequisiteState("must be loaded")
        return self

    def fetchall(self) -> list[tuple[Any, ...]]:
        found = [rows for part, rows in self._answers.items() if part in self.asked[-1]]
        return found[0] if found else []

    def close(self) -> None:
        self.closed = True

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Stand:
    """A clock that only waiting moves, a product and a receiver; notes when what happened."""

    url = "http://127.0.0.1:1"
    pid = 99
    ahead_seconds = Punctual.ahead_seconds

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.plans: list[Plan] = []
        #: Name, begin and end of each stage, in seconds from the due time.
        self.stages: list[tuple[str, float, float]] = []
        self.creating_seconds = 0.5
        #: How many executions of the measured plan never get so far.
        self.unprepared = self.lost = self.unrecorded = 0

    def kinds(self) -> dict[int, str]:
        return {1: "worker"}

    def schedule(self, plan: Plan) -> None:
        self.plans.append(plan)
        self.now += self.creating_seconds

    def session(self) -> Session:
        return Session({"scheduled_for": [(self.plans[-1].count - self.unprepared,)]})

    def count(self) -> int:
        plan = self.plans[-1]
        return (plan.count if self.now >= plan.at_ms / 1000 else 0) - self._short(self.lost)

    def reset(self) -> None:
        pass

    def recorded(self, plan: Plan) -> Recorded:
        return Recorded(plan.count - self._short(self.unrecorded), 0)

    def _short(self, number: int) -> int:
        return number if len(self.plans) > 1 else 0

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def measure(self, count: int = 3000) -> list[Stage]:
        chosen = costs.options(["--count", str(count)])
        return measure(self, self, chosen)  # type: ignore[arg-type]  # fakes of both


@pytest.fixture
def stand(monkeypatch: pytest.MonkeyPatch) -> Stand:
    found = Stand()
    clock = SimpleNamespace(time=lambda: found.now, monotonic=lambda: found.now)
    monkeypatch.setattr(costs, "time", clock)
    monkeypatch.setattr(costs, "threading", SimpleNamespace(Event=lambda: found))
    monkeypatch.setattr(costs, "usage", lambda _: Usage({"worker": found.now}, {}, {}))
    # Waited out by the clock that is real.
    monkeypatch.setattr(costs, "_STALL_SECONDS", 0.1)
    return found


def usages(monkeypatch: pytest.MonkeyPatch, *moments: dict[str, float]) -> None:
    left = [Usage(cpu, {}, {}) for cpu in moments]
    monkeypatch.setattr(costs, "usage", lambda _: left.pop(0))


def test_a_stage_costs_what_each_kind_has_used_meanwhile_for_each_execution(
    monkeypatch: pytest.MonkeyPatch,
):
    usages(monkeypatch, {"worker": 1.0, "web": 2.0}, {"worker": 1.5, "web": 2.0, "new": 0.25})
    meter = Meter({}, 1000, None)

    with meter.stage(RUN):
        pass

    (stage,) = meter.stages
    assert stage.microseconds == {"worker": 500.0, "new": 250.0}
    assert stage.statements == []


def test_statements_are_counted_from_the_beginning_of_each_stage(monkeypatch: pytest.MonkeyPatch):
    usages(monkeypatch, {}, {})
    session = Session({"FROM pg_stat_statements": [DEAREST]})
    meter = Meter({}, 60_000, session)  # type: ignore[arg-type]  # a fake

    with meter.stage(RUN):
        assert session.asked == ["SELECT pg_stat_statements_reset()"]

    # 120 milliseconds of 60,000 executions.
    assert meter.stages[0].statements == [("UPDATE executions", 30, 60_000, 2.0)]


def test_a_stage_that_does_not_end_has_no_figures(monkeypatch: pytest.MonkeyPatch):
    usages(monkeypatch, {}, {})
    meter = Meter({}, 1, None)

    with pytest.raises(CouldNotRunError), meter.stage(RUN):
        raise CouldNotRunError("it stalls")

    assert meter.stages == []


def test_the_receiver_is_told_and_not_part_of_the_sum():
    found = TOLD.as_json()

    assert found["sum"] == 150.1
    assert found["microseconds"][TARGET] == 40.0


def test_stored_statements_have_names_for_their_figures():
    found = Stage(RUN, 1.0, {}, [("UPDATE executions", 30, 60_000, 2.0)]).as_json()

    assert found["statements"] == [
        {"statement": "UPDATE executions", "calls": 30, "rows": 60_000, "microseconds": 2.0}
    ]


def test_the_dearest_kind_is_told_first_and_what_costs_nothing_not_at_all():
    lines = lines_of([TOLD])

    assert lines[0] == "run: 150 µs each, 12.3 s"
    assert [line.split() for line in lines[1:]] == [
        ["worker", "90.0", "µs"],
        ["postgresql", "60.0", "µs"],
        [TARGET, "40.0", "µs"],
    ]


def test_statements_are_told_below_their_stage():
    stages = [Stage(RUN, 1.0, {"worker": 1.0}, [("UPDATE executions", 30, 60_000, 2.0)])]

    assert lines_of(stages)[-1].split() == "2.0 µs 30 calls 60000 rows UPDATE executions".split()


@pytest.mark.parametrize("count", ["0", "-1"])
def test_a_backlog_of_nothing_is_refused(count: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        costs.options(["--count", count])

    assert "1 or more" in capsys.readouterr().err


def test_tenants_without_any_execution_are_refused(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        costs.options(["--count", "9", "--tenants", "10"])

    assert "number of tenants" in capsys.readouterr().err


def test_the_stages_follow_one_another_and_none_begins_before_its_work(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
):
    stage = Meter.stage

    @contextmanager
    def noted(meter: Meter, name: str) -> Iterator[None]:
        began = stand.now
        with stage(meter, name):
            yield
        due = stand.plans[-1].at_ms / 1000
        stand.stages.append((name, began - due, stand.now - due))

    monkeypatch.setattr(Meter, "stage", noted)

    stages = stand.measure()

    assert [one.name for one in stages] == [CREATE, PREPARE, RUN]
    assert [name for name, _, _ in stand.stages] == [CREATE, PREPARE, RUN]
    (_, _, created), (_, begins, prepared), (_, runs, ended) = stand.stages
    assert created <= begins <= -Conf().horizon_seconds
    assert prepared <= runs <= -Conf().release_seconds
    assert ended >= 0


def test_the_installation_is_warmed_up_beforehand(stand: Stand):
    stand.measure(count=3000)

    assert [plan.count for plan in stand.plans] == [2000, 3000]


def test_slow_creation_overlaps_with_preparing_and_gives_no_figures(stand: Stand):
    stand.creating_seconds = 12.0

    with pytest.raises(CouldNotRunError, match="overlap"):
        stand.measure()


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("unprepared", "2999 of 3000 executions were prepared in time"),
        ("lost", "2999 of 3000 webhooks arrived"),
        ("unrecorded", "2999 of 3000 executions were recorded"),
    ],
)
def test_what_does_not_get_to_its_end_gives_no_figures(stand: Stand, what: str, told: str):
    setattr(stand, what, 1)

    with pytest.raises(CouldNotRunError, match=told):
        stand.measure()


class Server:
    """A product whose database can be ended; ``refusals`` sessions find it without the library."""

    def __init__(self, data: Path, refusals: int) -> None:
        (data / "postmaster.pid").write_text(f"4711\n{data}\n", encoding="utf-8")
        self.sessions: list[Session] = []
        self.ended: list[tuple[int, int]] = []
        self.looked = 0
        self._data = data
        self._refusals = refusals

    def session(self) -> Session:
        refuses = "SELECT count(*)" if len(self.sessions) <= self._refusals else ""
        self.sessions.append(Session({"data_directory": [(str(self._data),)]}, refuses))
        return self.sessions[-1]

    def look(self) -> None:
        self.looked += 1

    def kill(self, pid: int, number: int) -> None:
        self.ended.append((pid, number))

    def counting(self) -> Any:
        return counting(self)  # type: ignore[arg-type]  # a fake


@pytest.fixture
def server_of(
    stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[int], Server]:
    def make(refusals: int) -> Server:
        found = Server(tmp_path, refusals)
        monkeypatch.setattr(costs, "os", found)
        return found

    return make


def test_statements_are_counted_once_the_server_runs_with_the_library(
    server_of: Callable[[int], Server],
):
    server = server_of(2)

    found = server.counting()

    assert server.ended == [(4711, signal.SIGINT)]
    assert found is server.sessions[-1]
    assert [session.closed for session in server.sessions] == [True, True, True, False]
    assert any("track_planning = on" in text for text in found.asked)
    assert server.looked == 1


def test_a_server_that_never_counts_could_not_run(server_of: Callable[[int], Server]):
    server = server_of(10_000)

    with pytest.raises(CouldNotRunError, match="must be loaded"):
        server.counting()

    assert all(session.closed for session in server.sessions)
    assert not server.looked


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Replace the product and the receiver; filled when the product is stopped."""
    found: list[bool] = []

    @contextmanager
    def running() -> Iterator[None]:
        yield

    product = SimpleNamespace(start=lambda _: None, stop=lambda: found.append(True))
    monkeypatch.setattr(costs, "Punctual", lambda: product)
    monkeypatch.setattr(target, "running", running)
    return found


@pytest.mark.parametrize(
    "error",
    [
        CouldNotRunError("no"),
        psycopg.OperationalError("no"),
        http.client.BadStatusLine("no"),
        TimeoutExpired("no", 60),
    ],
)
def test_what_could_not_run_is_told_in_one_line_and_the_product_stopped(
    stopped: list[bool], monkeypatch: pytest.MonkeyPatch, error: Exception
):
    def broken(*_: object) -> list[Stage]:
        raise error

    monkeypatch.setattr(costs, "measure", broken)

    with pytest.raises(InstallationError, match="no"):
        main([])

    assert stopped == [True]


def test_the_figures_are_stored_by_stage(
    stopped: list[bool], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(costs, "measure", lambda *_: [TOLD])

    assert main(["--count", "500", "--results", str(tmp_path)]) == 0

    stored = json.loads(next(tmp_path.glob("*-costs.json")).read_text(encoding="utf-8"))
    assert stored["count"] == 500
    assert stored["stages"] == {RUN: TOLD.as_json()}
    assert stopped == [True]


@pytest.mark.usefixtures("stopped")
def test_figures_of_many_tenants_are_stored_apart_from_those_of_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(costs, "measure", lambda *_: [TOLD])
    product = SimpleNamespace(start=lambda _: None, stop=lambda: None)
    monkeypatch.setattr(costs, "ManyTenants", lambda _: product)

    assert main(["--tenants", "10", "--results", str(tmp_path)]) == 0

    (stored,) = tmp_path.glob("*.json")
    assert stored.name.endswith("-costs-tenants.json")
    assert json.loads(stored.read_text(encoding="utf-8"))["tenants"] == 10
