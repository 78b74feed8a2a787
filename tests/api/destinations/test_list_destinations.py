from __future__ import annotations

from tests.executions.answers import problem
from tests.factories import make_task, once
from tests.support.circuits import HOST, live
from wire.destination_key import key_of


def call(client, query=""):
    return client.get(f"/v1/destinations{query}")


def test_hosts_are_listed_with_their_circuits(client, alpha):
    make_task(alpha)
    live().report(20, 20, destination=key_of(alpha.id, HOST))

    [found] = call(client).json()["destinations"]

    assert found["host"] == HOST
    assert (found["circuit"], found["calls"], found["failures"]) == ("open", 20, 20)
    assert found["open_until"] is not None
    assert (found["tasks"], found["in_flight"], found["parked"]) == (1, 0, 0)
    assert (found["max_in_flight"], found["rate_per_second"], found["breaker"]) == (
        None,
        None,
        True,
    )
    assert found["version"] == 0


def test_the_list_goes_on_behind_the_last_host(client, alpha):
    for host in "ab":
        make_task(alpha, once(target={"url": f"https://{host}.example.com/"}))

    first = call(client, "?limit=1").json()
    second = call(client, f"?limit=1&after={first['next_after']}").json()

    assert [one["host"] for one in first["destinations"]] == ["a.example.com"]
    assert [one["host"] for one in second["destinations"]] == ["b.example.com"]
    assert second["next_after"] is None


def test_it_is_filtered(client, alpha):
    make_task(alpha)

    assert call(client, "?q=nowhere").json()["destinations"] == []
    assert call(client, "?limited=true").json()["destinations"] == []


def test_unknown_parameters_are_refused(client):
    for query in ("?sort=host", "?limit=0", "?limited=1"):
        assert problem(call(client, query))[0] == 400


def test_other_tenants_see_nothing_of_it(stranger, alpha):
    make_task(alpha)

    assert call(stranger).json()["destinations"] == []


def test_a_key_is_needed(nobody):
    assert call(nobody).status_code == 401
