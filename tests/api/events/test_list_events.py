from __future__ import annotations

import pytest

from events.feed import cursor
from events.feed_places import FeedPlace
from executions.ledger import days as ledger
from executions.loop.clocks import database_now
from shared.ids import new_id
from tests.executions.answers import problem
from tests.factories import make_client, make_tenant
from tests.support.feed_rows import write, write_batch

URL = "/v1/events"


@pytest.mark.django_db(transaction=True)
def test_a_client_follows_its_tenants_events_and_no_others():
    now = database_now()
    ledger.ensure_days_ahead(now)
    alpha, beta = make_tenant("Alpha"), make_tenant("Beta")
    client, stranger = make_client(alpha, ["read"]), make_client(beta, owner=True)
    begin = client.get(f"{URL}?limit=1000").json()["next_after"]
    batch = write_batch(alpha.id, 3)
    [failed] = write(alpha.id, "execution.failed")
    write(beta.id, "task.changed")

    first = client.get(f"{URL}?after={begin}&limit=2").json()
    rest = client.get(f"{URL}?after={first['next_after']}").json()
    end = client.get(f"{URL}?after={rest['next_after']}").json()

    subjects = [one["subject_id"] for one in first["events"] + rest["events"]]
    assert subjects == [str(one) for one in [*batch, failed]]
    assert (first["has_more"], rest["has_more"]) == (True, False)
    assert list(rest["events"][-1]) == ["id", "type", "at", "subject_id", "task_id", "data"]
    assert (end["events"], end["has_more"]) == ([], False)
    only = client.get(f"{URL}?after={begin}&types=execution.failed,task.changed").json()
    assert [one["type"] for one in only["events"]] == ["execution.failed"]
    # A cursor of another tenant opens nothing.
    assert problem(stranger.get(f"{URL}?after={begin}")) == (400, "invalid")
    theirs = stranger.get(f"{URL}?limit=1000").json()["events"]
    assert {one["subject_id"] for one in theirs}.isdisjoint(subjects)


@pytest.mark.parametrize(
    "query",
    [
        "after=x",
        "after=",
        "after=%00",
        "after=" + "A" * 55,
        "after=" + "A" * 300,
        "since=yesterday",
        "since=2026-11-20T08:00:00Z&after=x",
        "types=",
        "types=execution.exploded",
        "types=execution.failed,,",
        "limit=0",
        "limit=1001",
        "cursor=x",
    ],
)
def test_bad_input_is_refused(client, query):
    assert problem(client.get(f"{URL}?{query}")) == (400, "invalid")


def test_a_cursor_whose_events_are_gone_is_told_so(client, alpha):
    place = FeedPlace(5, new_id(), 0, database_now().replace(year=2020))

    answer = client.get(f"{URL}?after={cursor(place, alpha.id)}")

    assert problem(answer) == (410, "cursor_expired")
    assert "since=" in answer.json()["detail"]


@pytest.mark.parametrize("since", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_any_time_is_a_begin(client, since):
    assert client.get(f"{URL}?since={since}").status_code == 200
