from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest

from executions.demo.breaks import Kind
from executions.loop.clocks import database_now
from executions.triggering.receiver_requests import address_of, segment
from tasks.models import Task
from tasks.revisions import read_definition
from tenants.models import Tenant
from tests.factories import make_tenant
from tests.operations.demo_tenant import RECEIVER, allow_receiver
from tests.support.command_calls import call, type_in
from tests.support.command_documents import read_document
from tests.support.demo import note_break, start_demo
from tests.support.receiving import deliver, receiving

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _receiver(settings, tmp_path, monkeypatch):
    allow_receiver(settings)
    monkeypatch.setenv("DATA_DIR", str(tmp_path))


def test_a_seed_tells_what_it_made_and_a_second_one_that_it_is_there():
    first = read_document("demo-seed", call("demo", "seed", "--receiver", RECEIVER, "--json").out)
    second = call("demo", "seed", "--receiver", RECEIVER)

    assert first["made"]
    assert (second.code, second.err) == (0, "")
    assert second.out.startswith("The tenant demo is there already: ")


def test_without_a_receiver_there_is_nothing_to_call():
    assert call("demo", "seed").code == 3
    assert call("demo", "seed", "--receiver", "nowhere").code == 2
    assert not Tenant.objects.exists()


def test_a_reset_asks_first(monkeypatch):
    call("demo", "seed", "--receiver", RECEIVER)

    assert call("demo", "reset").code == 2
    type_in(monkeypatch, "n\n")
    assert call("demo", "reset").code == 1
    document = read_document("demo-reset", call("demo", "reset", "--yes", "--json").out)

    assert document["tasks"] >= 12
    assert not Tenant.objects.filter(name="demo").exists()
    assert call("demo", "reset", "--yes").code == 3


def test_somebody_elses_tenant_is_a_conflict():
    make_tenant("demo")

    assert call("demo", "seed", "--receiver", RECEIVER).code == 4
    assert call("demo", "reset", "--yes").code == 4


def test_the_tasks_call_the_tenants_own_address_at_the_receiver(settings, tmp_path):
    with receiving(settings, tmp_path):
        assert call("demo", "seed").code == 0

    tenant = Tenant.objects.get(name="demo")
    definitions = [read_definition(task) for task in Task.objects.for_tenant(tenant.id)]
    urls = [url for one in definitions for url in _urls(one.target)]
    assert {urlsplit(url).path.split("/")[1] for url in urls} == {segment(tenant.id)}


def test_the_sink_tells_what_it_got_last_but_not_what_that_carried(settings, tmp_path):
    with receiving(settings, tmp_path):
        call("demo", "seed")
        deliver(f"{address_of(Tenant.objects.get(name='demo').id)}ok", body=b"secret")
        said = call("demo", "sink", "--json")

    document = read_document("demo-sink", said.out)
    assert (said.code, document["answers"]) == (0, True)
    assert document["last_request"]["path"] == "/ok"
    assert "secret" not in said.out


def test_a_sink_that_is_away_exits_with_1(settings, tmp_path):
    with receiving(settings, tmp_path):
        call("demo", "seed")

    said = call("demo", "sink", "--json")

    assert said.code == 1
    assert read_document("demo-sink", said.out)["answers"] is False


def test_without_a_demo_tenant_or_a_receiver_there_is_no_sink():
    assert call("demo", "sink").code == 3
    call("demo", "seed", "--receiver", RECEIVER)
    assert call("demo", "sink").code == 3


def test_a_break_is_begun_and_reported(monkeypatch, settings):
    _, up = start_demo(monkeypatch, settings)

    begun = call("demo", "break", "worker", "--detach", "--json")
    again = call("demo", "break", "scheduler", "--detach")
    reported = call("demo", "report", "--json")

    assert (begun.code, again.code, reported.code) == (0, 4, 0)
    assert read_document("demo-break", begun.out)["phase"] == "waits"
    assert read_document("demo-report", reported.out)["kind"] == "worker"
    assert len(up.asked) == 2


def test_a_break_that_has_lost_something_exits_with_1(monkeypatch, settings):
    tenant, up = start_demo(monkeypatch, settings)
    long_ago = database_now().replace(microsecond=0) - timedelta(hours=1)
    note_break(tenant, Kind.WORKER, long_ago)
    unknown = call("demo", "report")
    up.arrived()

    assert (unknown.code, call("demo", "report").code) == (6, 1)


def test_without_the_demo_there_is_no_break(monkeypatch, settings):
    start_demo(monkeypatch, settings)
    settings.DEMO = False

    said = call("demo", "break", "worker")

    assert (said.code, call("demo", "report").code) == (3, 3)
    assert "DEMO=true" in said.err


def _urls(target: Any) -> list[str]:
    """Return the URLs of a target, or of the steps of a workflow."""
    targets = [step["target"] for step in target.get("steps", ()) if "target" in step]
    return [str(one["url"]) for one in targets or [target]]
