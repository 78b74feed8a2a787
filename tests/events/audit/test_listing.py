from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from events import audit
from events.audit.listing import get_entry, last_number, list_entries, order_of
from shared.exceptions import InvalidInput, NotFound
from tests.events.audit.tampering import entries_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def chain():
    chain = uuid4()
    for actor, action, kind, name in (
        ("user:1", "task.created", "task", "a"),
        ("user:2", "task.updated", "task", "a"),
        ("user:2", "pool.changed", "pool", "a"),
    ):
        audit.record(chain, actor, action, kind, name)
    audit.record(uuid4(), "user:2", "task.updated", "task", "a")
    return chain


@pytest.mark.parametrize(
    ("filters", "numbers"),
    [
        ({}, [1, 2, 3]),
        ({"actor": None, "action": ""}, [1, 2, 3]),
        ({"actor": "user:2"}, [2, 3]),
        ({"action": "task.updated"}, [2]),
        ({"object_kind": "task", "object_id": "a"}, [1, 2]),
        ({"actor": "user:2", "object_kind": "pool"}, [3]),
    ],
)
def test_entries_of_one_tenant_are_found_by_every_filter(chain, filters, numbers):
    found = list_entries(chain, filters).order_by("sequence")

    assert [entry.sequence for entry in found] == numbers


def test_entries_are_found_by_their_time(chain):
    second = entries_of(chain)[1].at

    assert list_entries(chain, {"since": second}).count() == 2
    assert list_entries(chain, {"until": second}).count() == 1
    assert not list_entries(chain, {"since": second + timedelta(hours=1)}).exists()


def test_entries_of_a_time_are_not_sought_behind_all_newer_ones(chain):
    """By number, the plan would be free to pass all newer entries on the way to old ones."""
    filters = {"until": entries_of(chain)[2].at, "since": None}
    found = list_entries(chain, filters)

    assert [one.sequence for one in found.order_by(*order_of(filters))] == [2, 1]
    assert order_of(filters)[0] == order_of({"since": filters["until"]})[0] == "-at"
    assert order_of({"since": None, "actor": "user:2"}) == ("-sequence",)


def test_an_id_without_its_kind_is_refused(chain):
    with pytest.raises(InvalidInput):
        list_entries(chain, {"object_id": "a"})


def test_one_entry_is_found_by_its_id_and_in_its_own_chain_only(chain):
    second = entries_of(chain)[1]

    assert get_entry(chain, second.id) == second
    assert last_number(chain) == 3
    for tenant, entry in ((uuid4(), second.id), (chain, uuid4())):
        with pytest.raises(NotFound):
            get_entry(tenant, entry)
