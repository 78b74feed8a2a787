from __future__ import annotations

import pytest

from executions.models import Destination
from shared.actor import COMMAND
from tests.executions.answers import audited
from tests.factories import make_task
from tests.support.circuits import HOST, live
from tests.support.command_calls import call, type_in
from tests.support.command_documents import read_document
from wire.destination_key import key_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def task(alpha):
    return make_task(alpha)


def test_destinations_are_listed(alpha):
    found = read_document("destinations-list", call("destinations", "list", "--json").out)

    assert [one["host"] for one in found["destinations"]] == [HOST]
    said = call("destinations", "list", "--wide").out
    assert HOST in said
    assert "no limits" in said


def test_one_is_shown(alpha):
    live().report(20, 20, destination=key_of(alpha.id, HOST))

    found = read_document("destinations-show", call("destinations", "show", HOST, "--json").out)

    assert (found["circuit"], found["failures"]) == ("open", 20)
    assert "circuit         open" in call("destinations", "show", HOST).out


def test_limits_are_set_and_lifted(alpha):
    said = call("destinations", "set", HOST, "--max-in-flight", "10", "--rate", "2.5")
    assert said.out == f"{HOST}: 10 in flight, 2.5 a second\n"
    assert audited(HOST, "destination.changed")["actor"] == COMMAND.name

    lifted = call("destinations", "set", HOST, "--rate", "none", "--breaker", "off", "--json")

    found = read_document("destinations-set", lifted.out)
    assert (found["max_in_flight"], found["rate_per_second"], found["breaker"]) == (10, None, False)


@pytest.mark.parametrize(
    "options", [[], ["--rate", "much"], ["--max-in-flight", "0"], ["--rate", "nan"]]
)
def test_what_makes_no_sense_is_wrong_use(options):
    assert call("destinations", "set", HOST, *options).code == 2
    assert not Destination.objects.exists()


def test_a_circuit_is_closed_after_asking(alpha, monkeypatch):
    live().report(20, 20, destination=key_of(alpha.id, HOST))
    type_in(monkeypatch, "n\n")
    assert call("destinations", "reset", HOST).code == 1

    found = read_document(
        "destinations-reset", call("destinations", "reset", HOST, "--yes", "--json").out
    )

    assert found["circuit"] == "closed"


def test_unknown_hosts_are_not_found():
    for verb in (["show"], ["reset", "--yes"]):
        assert call("destinations", verb[0], "nowhere", *verb[1:]).code == 3
