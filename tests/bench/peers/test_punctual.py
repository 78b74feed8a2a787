from __future__ import annotations

import orjson
import psycopg
import pytest

from bench.installation import Installation
from bench.peers import punctual as contender
from bench.peers.contender import CouldNotRunError
from bench.peers.plan import Plan, body, payload
from bench.peers.punctual import Punctual, task
from operations.proof.client import ApiClient, ApiError
from shared.conf import Conf

AT_MS = 1_800_000_000_000


class Database:
    """Answers what is under way from a list, and then that seven have succeeded."""

    def __init__(self, *under_way: int) -> None:
        self.under_way = list(under_way)
        self.bounds: tuple[str, ...] = ()

    def execute(self, statement: bytes, values: tuple[str, ...]) -> Database:
        self.bounds = values
        return self

    def fetchone(self) -> tuple[int]:
        return (7 if self.bounds else self.under_way.pop(0),)


def punctual(database: Database) -> Punctual:
    found = Punctual()
    found._database = database  # type: ignore[assignment]  # a fake
    return found


def test_each_call_becomes_a_one_time_task_due_at_its_time():
    plan = Plan("http://127.0.0.1:8080", 3, AT_MS, step_ms=1.0)

    made = task(plan, 2)

    assert made["schedule"] == {"run_at": "2027-01-15T08:00:00.002Z"}
    assert made["payload"] == payload(2)
    assert made["target"] == {
        "kind": "webhook",
        "url": "http://127.0.0.1:8080/hook/2",
        "method": "POST",
    }


def test_all_are_created_in_a_few_calls_each_all_or_nothing(monkeypatch: pytest.MonkeyPatch):
    sent: list[dict[str, object]] = []

    async def expect(
        self: ApiClient, status: int, method: str, path: str, body: dict[str, object], *, key: str
    ) -> None:
        assert (status, method, path, bool(key)) == (200, "POST", "/v1/tasks/bulk", True)
        sent.append(body)

    monkeypatch.setattr(ApiClient, "expect", expect)
    found = Punctual()
    found._product = Installation("http://127.0.0.1:8000", "key", {})
    plan = Plan("http://127.0.0.1:8080", 12_000, AT_MS)

    found.schedule(plan)

    tasks = [one for call in sent for one in call["tasks"]]  # type: ignore[attr-defined]  # a list
    assert [one["name"] for one in tasks] == [f"webhook {number}" for number in range(12_000)]
    assert len(sent) == 3
    assert all(call["atomic"] for call in sent)


def test_a_refused_creation_is_passed_on(monkeypatch: pytest.MonkeyPatch):
    async def expect(self: ApiClient, *_: object, key: str) -> None:
        raise ApiError("no")

    monkeypatch.setattr(ApiClient, "expect", expect)
    found = Punctual()
    found._product = Installation("http://127.0.0.1:8000", "key", {})

    with pytest.raises(ApiError):
        found.schedule(Plan("http://127.0.0.1:8080", 1, AT_MS))


def test_what_is_recorded_is_counted_when_nothing_is_under_way_any_more():
    database = Database(40, 3, 3, 0)

    found = punctual(database).recorded(Plan("", 11, AT_MS, step_ms=1.0))

    assert found.count == 7
    assert not database.under_way
    assert database.bounds == ("2027-01-15T08:00:00.000Z", "2027-01-15T08:00:00.010Z")


def test_what_stays_under_way_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(contender, "STALL_SECONDS", 0.0)
    database = Database(*[5] * 100)

    assert punctual(database).recorded(Plan("", 11, AT_MS)).count == 7
    assert database.under_way


def test_a_database_that_is_gone_could_not_run():
    class Gone(Database):
        def execute(self, statement: bytes, values: tuple[str, ...]) -> Database:
            raise psycopg.OperationalError("it is gone")

    with pytest.raises(CouldNotRunError, match="it is gone"):
        punctual(Gone()).recorded(Plan("", 1, AT_MS))


def test_work_begins_no_sooner_than_the_processor_time_is_counted():
    assert Punctual.ahead_seconds > Conf().horizon_seconds


def test_a_payload_is_written_as_the_body_that_the_others_send():
    assert orjson.dumps(payload(5)) == body(5).encode()
