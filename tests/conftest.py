"""The session's servers and what every test may use."""

from __future__ import annotations

import gc
import io
import json
import logging
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg._connection_base
import pytest
from django.conf import settings
from django.db import connections, transaction
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from psycopg.conninfo import conninfo_to_dict
from pytest_django.plugin import blocking_manager_key
from structlog.contextvars import clear_contextvars

from scheduler_site.broker import broker_url
from scheduler_site.celery import app
from shared import data_keys, database_clock, logs, redis_client
from tenants.data_keys import Stored
from tenants.quotas import known, weights
from tests.support import log_lines, vacuuming
from tests.support.emptying import empty_instead_of_truncating
from tests.support.kept_statements import KeptStatements
from tests.support.leftovers import adopt_orphans, leftovers
from tests.support.loops import hold_the_loops_back
from tests.support.servers import start_servers
from tests.support.standing_clock import make_standing_clock
from tests.support.together import TogetherScheduling
from tests.support.walls import wall_the_web

# Found anew behind each rollback, statements would be planned in every test.
psycopg._connection_base.PrepareManager = KeptStatements  # type: ignore[attr-defined]  # no setting

# A test that is about a server which does not answer sets its own time.
redis_client.ANSWER_SECONDS = 60.0

# A test calls as fast as the machine can; one that is about the rate sets its own.
settings.PUNCTUAL = replace(settings.PUNCTUAL, api_calls_per_second=0)

# A shell without job control starts what it puts in the background with SIGINT ignored, and every
# process that a test interrupts would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How fast the machine is that the tests run on says nothing about what they test, and two runs of
# one commit try the same.
hypothesis_settings.register_profile(
    "punctual",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
hypothesis_settings.load_profile("punctual")


#: Containers that a test makes before Python looks for circles among them.
_YOUNG = 10_000
#: Set while the session's servers run.
_HAS_SERVERS = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without a search for circles, which walks over all that was found so far."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Exempt the tests themselves, millions of objects, from the search for circles."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG)


#: Seconds after which the product takes work in smaller parts.
_BOUNDS_OF_A_PASS = (
    "executions.loop.lower_bounds._CHEAP_SECONDS",
    "executions.materialize.planning._SECONDS",
    "executions.gate.stage._SECONDS",
    "executions.bulk.steps._CHUNK_SECONDS",
)
#: Milliseconds after which PostgreSQL cancels a statement, and how many the tests give it.
_BOUNDS_OF_A_STATEMENT = (
    "insight.filter_language.suggestions._BUDGET_MS",
    "insight.list_budget._GIVEN_MS",
    "insight.statistics.facets._BUDGET_MS",
    "notifications.time_checks.burning._MOST_MILLISECONDS",
    "notifications.time_checks.stage._MOST_MILLISECONDS",
)
_PATIENT_MS = 300_000


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> TogetherScheduling | None:
    """Keep tests together that share what is slow to make, unless another way is asked for."""
    return TogetherScheduling(config, log) if config.getoption("dist") == "load" else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Function) -> Generator[None, object, object]:
    """Forget what requests of the test bound to log lines, and what rolled back tests leave."""
    result = yield
    clear_contextvars()
    if _has_database(item):
        with item.config.stash[blocking_manager_key].unblock():
            vacuuming.vacuum_now_and_then()
    return result


def _has_database(item: pytest.Function) -> bool:
    marked = item.get_closest_marker("django_db") is not None
    return marked or "django_db_setup" in item.fixturenames


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Hold the lines of a test with the mark ``logs`` to the catalogue of events."""
    wanted = [(event, mark.kwargs) for mark in item.iter_markers("logs") for event in mark.args]
    if not wanted:
        return (yield)
    with log_lines.kept() as records:
        result = yield
    for event, values in wanted:
        log_lines.held_to_catalogue(records, event, values)
    return result


#: What says that Redis was away, and since when, with the values of a process that has not asked.
_LATCHES = {
    "api.protocol.rate_limits._Away.failing": False,
    "api.protocol.rate_limits._Away.until": float("-inf"),
    "tenants.quotas.counters._failing": False,
    "tenants.quotas.counters._away_until": float("-inf"),
    # A reading of the weights of tenants lasts some seconds, too.
    "tenants.quotas.weights._last.at": float("-inf"),
}


@pytest.fixture(scope="session", autouse=True)
def _no_process_is_left() -> Iterator[None]:
    """Fail a session, of each process of it, that leaves a process of its own running.

    It is made before every other fixture of the session, and so judges after their end.
    """
    adopt_orphans()
    yield
    left = leftovers()
    assert not left, "processes of this test session still run: " + "; ".join(left)


@pytest.fixture(autouse=True)
def _no_part_of_a_pass_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each look and each pass be a whole one; by the clock, a busy machine would decide."""
    for bound in _BOUNDS_OF_A_PASS:
        monkeypatch.setattr(bound, float("inf"))
    for bound in _BOUNDS_OF_A_STATEMENT:
        monkeypatch.setattr(bound, _PATIENT_MS)


@pytest.fixture(autouse=True)
def _no_test_gives_redis_up_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask Redis anew: who found it away lets it be for seconds, which the next test may be in."""
    for latch, asked in _LATCHES.items():
        monkeypatch.setattr(latch, asked)


@pytest.fixture(autouse=True)
def _limits_of_tenants_are_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Know no limit and no weight of another test's tenants, which hold for seconds otherwise."""
    monkeypatch.setattr(known, "_known", {})
    monkeypatch.setattr(known, "_some", {})
    monkeypatch.setattr(known, "_executions", (float("-inf"), {}))
    weights.forget()


@pytest.fixture(autouse=True)
def _data_keys_are_found_anew(request: pytest.FixtureRequest) -> Iterator[None]:
    """Find data keys in the test's own database, and none in tests without one."""
    former = data_keys.use_source(Stored() if _has_database(request.node) else data_keys.NoKeys())
    yield
    data_keys.use_source(former)


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Real PostgreSQL and Valkey of this test process; database URL and Redis URL."""
    database_url, redis_url, stop = start_servers(Path(tmp_path_factory.mktemp("servers")))
    yield database_url, redis_url
    connections.close_all()
    stop()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    pytestconfig: pytest.Config, servers: tuple[str, str]
) -> Iterator[None]:
    """Point Django, Redis clients and Celery at the session's servers."""
    database_url, redis_url = servers
    parts = conninfo_to_dict(database_url)
    for settings_dict in (settings.DATABASES["default"], connections["default"].settings_dict):
        settings_dict.update(
            NAME=parts["dbname"],
            USER=parts["user"],
            PASSWORD=parts["password"],
            HOST=parts["host"],
            PORT=str(parts.get("port", "")),
        )
    settings.REDIS_URL = redis_url
    app.conf.broker_url = broker_url(redis_url)
    redis_client.client.cache_clear()
    pytestconfig.stash[_HAS_SERVERS] = True
    yield
    pytestconfig.stash[_HAS_SERVERS] = False


@pytest.fixture(scope="session")
def django_db_setup(
    django_db_setup: None, django_db_blocker: object, django_db_modify_db_settings: None
) -> Iterator[None]:
    """Give the test database the day tables that a start makes."""
    from executions.ledger import days
    from executions.loop.clocks import database_now

    with django_db_blocker.unblock():  # type: ignore[attr-defined]  # pytest-django's blocker
        with transaction.atomic():
            days.ensure_days_ahead(database_now())
            make_standing_clock()
        wall_the_web()
        hold_the_loops_back()
        # The database is on this machine, and tests travel with its clock. It is not asked: a test
        # that counts statements must not meet the question.
        begun = time.time()
        measured = database_clock._Measured(datetime.fromtimestamp(begun, UTC), begun)
        patch = pytest.MonkeyPatch()
        patch.setattr(database_clock, "elapsed", time.time)
        patch.setattr(database_clock, "_measured", measured)
        patch.setattr(database_clock, "KEPT_SECONDS", float("inf"))
    empty_instead_of_truncating()
    with vacuuming.allowed():
        yield


@pytest.fixture(autouse=True)
def _empty_redis(pytestconfig: pytest.Config) -> Iterator[None]:
    """Let no test see another's Redis, also where the other has not asked for the servers."""
    yield
    if pytestconfig.stash.get(_HAS_SERVERS, False):
        redis_client.client().flushall()


@pytest.fixture
def json_lines() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Return a function that returns the log lines so far, which are JSON here."""
    written = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", written)
        logs.configure({"level": "INFO", "json": True})
    yield lambda: [json.loads(line) for line in written.getvalue().splitlines()]
    logs.configure(settings.LOGGING)
    logging.captureWarnings(False)


@pytest.fixture
def on_commit(django_capture_on_commit_callbacks: Callable[..., object]) -> Callable[..., object]:
    """Run what waits for the commit, in tests whose transaction never commits."""
    return django_capture_on_commit_callbacks
