from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NotRequired, get_origin, get_type_hints
from uuid import UUID, uuid4

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.conf import conf
from wire import messages
from wire.messages import OF_TENANTS, Claimed, Entry, split, weight

DUE = datetime(2027, 1, 1, 12, 0, 0, 250000, tzinfo=UTC)
TENANT = UUID(int=1)
RARE = {"limits", "payload", "progress", "named", "lost", "trace"}
RECORDED = Path(__file__).parent / "recorded"


def claimed(**parts: Any) -> Claimed:
    defaults: Any = {
        "id": uuid4(),
        "tenant_id": TENANT,
        "task_id": uuid4(),
        "revision": 3,
        "scheduled_for": DUE - timedelta(seconds=1),
        "due_at": DUE,
        "attempt": 1,
        "max_attempts": 5,
        "token": 77,
        "lease_expires_at": DUE + timedelta(seconds=10),
        "priority": 5,
        "sealed_payload": None,
        # Named statements answer jsonb as text.
        "target": '{"method": "POST"}',
        "url": "https://example.com/",
        "retry_policy": '{"max_attempts": 5}',
        "sealed": b"sealed",
        "destination": "example.com",
        "lost_count": 1,
        "sealed_progress": None,
        "named": None,
    }
    return Claimed(**{**defaults, **parts})


def message(part: Sequence[Claimed], *arguments: Any) -> Any:
    """Return a message as it arrives."""
    return messages.decode(sent(part, *arguments))


def sent(part: Sequence[Claimed], *arguments: Any) -> Any:
    """Return a message as it travels."""
    made = messages.encode(part, sum(map(weight, part)), *arguments)
    found: Any = orjson.loads(orjson.dumps(made))
    return found


def test_an_entry_holds_what_the_worker_needs():
    row = claimed()

    (entry,) = message([row], "run:1", {}, 0.0)["executions"]

    assert entry["id"] == str(row.id)
    assert (entry["token"], entry["revision"], entry["priority"]) == (77, 3, 5)
    # The attempt that this delivery will be.
    assert (entry["attempt"], entry["max_attempts"]) == (2, 5)
    assert entry["url"] == "https://example.com/"
    assert entry["target"] == {"method": "POST"}
    assert entry["retry_policy"] == {"max_attempts": 5}
    assert (entry["destination"], entry["lost"]) == ("example.com", 1)


def test_an_entry_has_no_word_of_what_it_does_not_have():
    plain = claimed(lost_count=0)

    (entry,) = message([plain], "run:1", {}, 0.0)["executions"]

    assert not RARE & entry.keys()


def test_equal_definitions_travel_once_and_arrive_as_one_object():
    other = '{"method": "PUT"}'
    own, tries = claimed(url="https://example.org/"), claimed(retry_policy='{"tries": 1}')
    parts = [claimed(), claimed(target=other), own, tries]

    entries = message(parts, "run:1", {}, 0.0)["executions"]

    assert len(sent(parts, "run:1", {}, 0.0)["definitions"]) == 3
    assert entries[0]["target"] is entries[2]["target"]
    assert [one["target"]["method"] for one in entries] == ["POST", "PUT", "POST", "POST"]
    assert [one["url"] for one in entries] == [
        f"https://example.{end}/" for end in ("com", "com", "org", "com")
    ]
    assert entries[3]["retry_policy"] == {"tries": 1}


@pytest.mark.parametrize(
    ("place", "value"), [(0, 1), (0, None), (1, None), (1, 1), (1, "0"), (2, 7)]
)
def test_a_message_that_no_dispatch_has_sent_is_refused_as_a_whole(place: int, value: Any):
    arrived = sent([claimed(), claimed()], "run:1", {}, 0.0)
    arrived["executions"][1][place] = value

    with pytest.raises((LookupError, TypeError)):
        messages.decode(arrived)


@pytest.mark.parametrize("change", [list.pop, lambda row: row.append(1)], ids=["less", "more"])
def test_an_entry_of_another_form_is_refused(change: Callable[[list[Any]], Any]):
    arrived = sent([claimed()], "run:1", {}, 0.0)
    change(arrived["executions"][0])

    with pytest.raises(ValueError, match="zip"):
        messages.decode(arrived)


def test_executions_of_several_tenants_keep_theirs():
    rows = [claimed(), claimed(tenant_id=UUID(int=2)), claimed()]

    entries = message(rows, "run:1", {}, 0.0)["executions"]

    assert [entry["tenant"] for entry in entries] == [str(row.tenant_id) for row in rows]


def test_the_last_progress_and_what_templates_name_travel_along():
    row = claimed(sealed_progress=b"half", named='{"name": "x", "labels": {}}')

    (entry,) = message([row], "run:1", {}, 0.0)["executions"]

    assert entry["progress"] == "aGFsZg=="
    assert entry["named"] == {"name": "x", "labels": {}}


def test_times_are_on_redis_clock_and_the_nominal_time_is_not():
    (entry,) = message([claimed()], "run:1", {}, 2.5)["executions"]

    assert entry["due"] == DUE.timestamp() + 2.5
    assert entry["start_by"] == (DUE.timestamp() + 9 + 2.5) * 1000
    assert entry["scheduled_for"] == (DUE - timedelta(seconds=1)).timestamp()


def test_a_message_carries_only_the_secrets_of_its_tenants():
    other = UUID(int=2)

    arrived = message([claimed()], "run:1", {TENANT: [b"a", b"b"], other: [b"c"]}, 0.0)

    assert arrived["secrets"] == {str(TENANT): ["YQ==", "Yg=="]}
    assert arrived["incarnation"] == "run:1"


def test_a_tenant_without_secrets_has_none():
    assert message([claimed()], "run:1", {}, 0.0)["secrets"] == {str(TENANT): []}


def test_a_message_holds_at_most_so_many_executions():
    parts = list(split([claimed() for _ in range(450)]))

    assert [len(part) for part, _ in parts] == [100, 100, 100, 100, 50]


def test_an_execution_that_is_larger_than_a_message_travels_alone():
    huge = claimed(sealed_payload=b"x" * conf().message_bytes)

    assert [len(part) for part, _ in split([claimed(), huge, claimed()])] == [1, 1, 1]


def test_nothing_is_split_into_nothing():
    assert list(split([])) == []


@given(
    st.lists(
        st.builds(
            claimed,
            sealed_payload=st.one_of(
                st.none(), st.integers(0, 400_000).map(lambda size: b"p" * size)
            ),
            target=st.integers(0, 20_000).map(lambda size: f'{{"url": "{"u" * size}"}}'),
        ),
        max_size=12,
    )
)
def test_messages_keep_to_their_size_and_lose_nothing(batch: list[Claimed]):
    parts = list(split(batch))

    assert [row for part, _ in parts for row in part] == batch
    for part, size in parts:
        travels = sent(part, "run:1", {}, 0.0)
        assert travels["bytes"] == size
        assert len(part) == 1 or size <= conf().message_bytes
        assert len(orjson.dumps(travels)) <= size + 1024


def test_the_weight_of_an_execution_is_not_below_its_bytes():
    row = claimed(sealed_payload=b"p" * 1000, sealed=b"s" * 500)

    (entry,) = message([row], "run:1", {}, 0.0)["executions"]

    assert weight(row) >= len(orjson.dumps(entry))


def test_a_message_of_the_version_before_is_read():
    # Processes of both versions run side by side during an upgrade. A new form needs a reader of
    # this one, and a recording of its own beside it.
    recorded = orjson.loads((RECORDED / "message.json").read_bytes())

    arrived = messages.decode(recorded)

    assert (arrived["incarnation"], arrived["offset"], arrived["bytes"]) == ("run:1", 2.5, 1234)
    plain, rare = arrived["executions"]
    assert plain == {
        "id": str(UUID(int=101)),
        "task": str(UUID(int=201)),
        "tenant": str(TENANT),
        "revision": 3,
        "token": 71,
        "attempt": 2,
        "max_attempts": 5,
        "priority": 5,
        "due": 1798804802.75,
        "start_by": 1798804811750,
        "scheduled_for": 1798804799.25,
        "sealed": "c2VhbGVk",
        "destination": "example.com",
        "url": "https://example.com/",
        "target": {"kind": "webhook", "method": "POST"},
        "retry_policy": {"max_attempts": 5},
    }
    assert {name: rare.get(name) for name in RARE} == {
        "limits": "1,5,",
        "payload": "b3du",
        "progress": "aGFsZg==",
        "named": {"name": "n", "labels": {}},
        "lost": 2,
        "trace": "4bf92f3577b34da6a3ce929d0e0e4736-01",
    }


def test_every_declared_field_arrives():
    (entry,) = message([claimed()], "run:1", {}, 0.0)["executions"]

    declared = get_type_hints(Entry, include_extras=True)
    rare = {name for name, hint in declared.items() if get_origin(hint) is NotRequired}
    # What is of tenants stands once in a message, apart from its entries.
    of_tenants = {"tenant_limits", "weight"}
    assert (entry.keys() - RARE, rare) == (declared.keys() - RARE - of_tenants, RARE | of_tenants)


def test_limits_of_a_tenant_reach_its_entries_and_no_others():
    rows = [claimed(), claimed(tenant_id=UUID(int=9))]

    known = OF_TENANTS._replace(limits={TENANT: "1,5,", UUID(int=8): "1,1,"})
    made = messages.encode(rows, 1, "run:1", {}, 0.0, known)
    mine, others = messages.decode(orjson.loads(orjson.dumps(made)))["executions"]

    assert made["limits"] == {str(TENANT): "1,5,"}
    assert (mine["tenant_limits"], "tenant_limits" in others) == ("1,5,", False)
    assert "limits" not in messages.encode(rows, 1, "run:1", {}, 0.0)


def test_entries_carry_the_weight_of_their_tenant_where_it_is_not_one():
    other = UUID(int=9)
    part = [claimed(), claimed(tenant_id=other)]
    known = OF_TENANTS._replace(weights={other: 4, UUID(int=10): 2})

    plain = sent(part, "run:1", {}, 0.0)
    weighted = sent(part, "run:1", {}, 0.0, known)

    assert "weights" not in plain
    assert weighted["weights"] == {str(other): 4}
    entries = messages.decode(weighted)["executions"]
    assert [entry.get("weight") for entry in entries] == [None, 4]
