"""``receiver``: a tenant's own address at the test receiver, and what arrived below it."""

from __future__ import annotations

import pytest

from events.models import AuditEntry
from executions.triggering.receiver_requests import address_of
from tests.factories import make_tenant
from tests.support.command_calls import call
from tests.support.command_documents import read_document
from tests.support.receiving import deliver, receiving

pytestmark = pytest.mark.django_db


@pytest.fixture
def alpha(settings, tmp_path):
    with receiving(settings, tmp_path):
        yield make_tenant()


def test_the_address_is_printed_alone_so_that_a_shell_can_take_it(alpha):
    assert call("receiver", "show").out == f"{address_of(alpha.id)}\n"
    document = read_document("receiver-show", call("receiver", "show", "--json").out)
    assert document["url"] == address_of(alpha.id)


def test_what_arrived_is_listed_for_the_tenant_that_is_named(alpha):
    beta = make_tenant("Beta")
    deliver(f"{address_of(alpha.id)}ok?n=1", webhook_id="a")
    deliver(f"{address_of(beta.id)}status/418")

    first = call("receiver", "requests", "--tenant", alpha.name, "--json")
    second = call("receiver", "requests", "--tenant", "Beta")

    document = read_document("receiver-requests", first.out)
    assert [one["path"] for one in document["requests"]] == ["/ok"]
    assert "/status/418" in second.out
    assert "/ok" not in second.out


def test_bodies_that_are_printed_have_an_entry_and_a_list_without_them_has_none(alpha):
    deliver(f"{address_of(alpha.id)}ok", body=b'{"n":1}')
    read = AuditEntry.objects.filter(action="payload.read")

    call("receiver", "requests")
    assert not read.exists()
    call("receiver", "requests", "--json")

    assert [(one.object_kind, one.object_id) for one in read] == [("receiver", str(alpha.id))]


def test_requests_are_found_by_path_and_execution(alpha):
    for number in ("1", "2"):
        deliver(f"{address_of(alpha.id)}status/20{number}", webhook_id=number)

    by_path = call("receiver", "requests", "--path", "/status/201").out
    by_id = call("receiver", "requests", "--webhook-id", "2").out

    assert ("/status/201" in by_path, "/status/202" in by_path) == (True, False)
    assert ("/status/201" in by_id, "/status/202" in by_id) == (False, True)
    assert call("receiver", "requests", "--limit", "0").code == 2


def test_what_arrived_is_forgotten(alpha):
    deliver(f"{address_of(alpha.id)}ok")

    read_document("receiver-forget", call("receiver", "forget", "--json").out)

    listed = call("receiver", "requests", "--json").out
    assert read_document("receiver-requests", listed)["requests"] == []


@pytest.mark.parametrize("verb", ["show", "requests", "forget"])
def test_where_no_receiver_runs_each_verb_says_so(settings, verb):
    settings.RECEIVER_URL = ""
    make_tenant()

    said = call("receiver", verb)

    assert said.code == 3
    assert "TEST_RECEIVER" in said.err
