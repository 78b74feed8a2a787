from __future__ import annotations

import pytest

from executions.ledger import days as ledger
from executions.loop.clocks import database_now
from tests.factories import make_tenant
from tests.support.command_calls import call
from tests.support.command_documents import read_document
from tests.support.feed_rows import write


@pytest.mark.django_db(transaction=True)
def test_events_are_listed_and_continued():
    ledger.ensure_days_ahead(database_now())
    tenant = make_tenant("Alpha")
    first = read_document("events-list", call("events", "list", "--limit", "1000", "--json").out)
    [subject] = write(tenant.id, "execution.failed")
    after = ("--cursor", first["next_after"])

    found = read_document("events-list", call("events", "list", *after, "--json").out)
    said = call("events", "list", *after, "--type", "execution.failed")
    none = call("events", "list", *after, "--type", "task.changed", "--json")

    assert [one["subject_id"] for one in found["events"]] == [str(subject)]
    assert str(subject) in said.out
    assert "--cursor" in said.err
    assert read_document("events-list", none.out)["events"] == []
