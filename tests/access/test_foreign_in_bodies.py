"""An id within a body is looked for in the caller's tenant: another's is one that there is not.

The places of ids come from the API's own description: one without a row here fails.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator

from executions.models import DeadLetter, Execution
from shared.actor import COMMAND
from tasks.models import Calendar
from tenants.authority import OPERATOR
from tenants.choices import SCOPES
from tenants.services import create_api_key
from tests.access.stored_rows import rows_of
from tests.access.unknown_rows import beside, plain
from tests.access.world import BETA, PUSH_KEYS, World, filled, make_world, undone
from tests.factories import ApiClient, make_task, once
from tests.support.workflows import make_workflow

pytestmark = pytest.mark.django_db

_TASK = "/v1/tasks/{task_id}"
_ONCE = "/v1/tasks/{once_id}"
#: What each answer has of its own.
_OWN = {"trace_id", "id", "created_at"}
_RUN_NAMES = ("execution", "ended")
_FLOW = "/v1/workflows/{workflow_id}"
_APPROVES = [{"key": "a", "kind": "approval"}]
_RUNS = {"steps": [{"key": "a", "kind": "workflow", "workflow_id": "{workflow_id}"}]}
_WAITS = {"depends_on": ["{task_of_execution}"]}
_DEPENDENT = {**once(), **_WAITS}
_KEEPS = {"schedule": {"cron_expression": "0 8 * * *", "calendars": ["{calendar}"]}}
_OFTEN = {"name": "often", "target": {"url": "https://example.com/in"}, **_KEEPS}
_CHANNEL = {"name": "made", "kind": "webhook", "url": "https://made.example.com/x"}
_PUSH = {"endpoint": "https://push.example.com/browser-3", "keys": PUSH_KEYS}
_EVENTS = {"url": "https://events.example.com/made", "types": ["execution.failed"]}
_ALWAYS = {"since": "2020-01-01T00:00:00Z", "until": "2100-01-01T00:00:00Z"}
#: Bulk calls -> what they do, the filter that the rows need besides, and the name of one.
_BULK: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "POST /v1/dlq/actions": ({"action": "resolve", "resolution": "fixed"}, {}, "letter"),
    "POST /v1/executions/actions": ({"action": "cancel"}, {}, "execution"),
    "POST /v1/executions/replay": ({}, _ALWAYS, "ended"),
}
#: Calls and the place of an id in the body -> the body; ``{name}`` is a foreign row's id.
BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("POST /v1/tasks", "depends_on.[]"): _DEPENDENT,
    ("POST /v1/tasks", "schedule.calendars.[]"): _OFTEN,
    ("POST /v1/tasks/bulk", "tasks.[].depends_on.[]"): {"tasks": [_DEPENDENT]},
    ("POST /v1/tasks/bulk", "tasks.[].schedule.calendars.[]"): {"tasks": [_OFTEN]},
    ("POST /v1/tasks/test", "depends_on.[]"): _DEPENDENT,
    ("POST /v1/tasks/test", "schedule.calendars.[]"): _OFTEN,
    (f"PUT {_ONCE}", "depends_on.[]"): _DEPENDENT,
    (f"PUT {_TASK}", "schedule.calendars.[]"): _OFTEN,
    (f"PATCH {_ONCE}", "depends_on.[]"): _WAITS,
    (f"PATCH {_TASK}", "schedule.calendars.[]"): _KEEPS,
    (f"POST {_ONCE}/clone", "depends_on.[]"): {"schedule": {"delay_seconds": 60}, **_WAITS},
    (f"POST {_TASK}/clone", "schedule.calendars.[]"): _KEEPS,
    (f"POST {_ONCE}/preview", "depends_on.[]"): _WAITS,
    (f"POST {_TASK}/preview", "schedule.calendars.[]"): _KEEPS,
    ("POST /v1/schedules/preview", "schedule.calendars.[]"): _KEEPS,
    ("POST /v1/workflows", "steps.[].workflow_id"): {"name": "made", **_RUNS},
    ("POST /v1/workflows", "schedule.calendars.[]"): {
        "name": "made",
        "steps": _APPROVES,
        **_KEEPS,
    },
    (f"PUT {_FLOW}", "steps.[].workflow_id"): {"name": "made", **_RUNS},
    (f"PUT {_FLOW}", "schedule.calendars.[]"): {
        "name": "made",
        "steps": _APPROVES,
        **_KEEPS,
    },
    (f"PATCH {_FLOW}", "steps.[].workflow_id"): _RUNS,
    (f"PATCH {_FLOW}", "schedule.calendars.[]"): _KEEPS,
    ("POST /v1/channels", "rules.[]"): {**_CHANNEL, "rules": ["{rule_id}"]},
    ("PATCH /v1/channels/{channel_id}", "rules.[]"): {"rules": ["{rule_id}"]},
    ("POST /v1/event-subscriptions", "filter.task_ids.[]"): {
        **_EVENTS,
        "filter": {"task_ids": ["{task_id}"]},
    },
    ("PATCH /v1/event-subscriptions/{event_subscription_id}", "filter.task_ids.[]"): {
        "filter": {"task_ids": ["{task_id}"]}
    },
    ("PATCH /v1/notification-preferences", "muted_task_ids.[]"): {
        "member": "{own_member}",
        "muted_task_ids": ["{task_id}"],
    },
    ("PATCH /v1/notification-preferences", "member"): {"member": "{member}"},
    ("POST /v1/alerts/{alert_id}/assign", "member"): {"member": "{member}"},
    ("POST /v1/push-subscriptions", "member"): {"member": "{member}", **_PUSH},
    ("POST /v1/views", "member"): {
        "list": "tasks",
        "name": "made",
        "query": "",
        "member": "{member}",
    },
    ("POST /v1/calendar-feeds", "member"): {"name": "made", "member": "{member}"},
    ("POST /v1/members/{member}/transfer", "from"): {"from": "{owner_member}"},
    **{
        (call, "filter.ids.[]"): {**done, "filter": {"ids": [f"{{{row}_id}}"]}}
        for call, (done, _, row) in _BULK.items()
    },
    **{
        (call, "filter.task"): {**done, "filter": {**more, "task": f"{{task_of_{row}}}"}}
        for call, (done, more, row) in _BULK.items()
    },
    ("POST /v1/tasks/actions", "filter.ids.[]"): {
        "action": "pause",
        "filter": {"ids": ["{task_id}"]},
    },
    ("POST /v1/tasks/actions", "set.depends_on.[]"): {
        "action": "set",
        "filter": {},
        "set": _WAITS,
    },
    ("POST /v1/tasks/actions", "set.schedule.calendars.[]"): {
        "action": "set",
        "filter": {},
        "set": _KEEPS,
    },
}


def places(schema: Any, known: Any, path: tuple[str, ...] = (), seen: Any = frozenset()) -> Any:
    """Yield the place of each id within a body: UUIDs, numbers of members, and calendars."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in seen:
            yield from places(known[name], known, path, seen | {name})
        return
    of_number = "integer" in schema.get("type", ())
    is_member = of_number and path[-1:] in (("member",), ("from",))
    if schema.get("format") == "uuid" or is_member:
        yield ".".join(path)
    if path[-1:] == ("calendars",):
        # A body may have the fields of its schedule at its top as well.
        yield ".".join((*(one for one in path[:-1] if one != "schedule"), "schedule.calendars.[]"))
        return
    for part in (*schema.get("allOf", ()), *schema.get("oneOf", ()), *schema.get("anyOf", ())):
        yield from places(part, known, path, seen)
    for name, one in schema.get("properties", {}).items():
        yield from places(one, known, (*path, name), seen)
    if "items" in schema:
        yield from places(schema["items"], known, (*path, "[]"), seen)


def described() -> set[tuple[str, str]]:
    """Return each call and place of an id of the API's description."""
    document = SchemaGenerator().get_schema(request=None, public=True)
    found = set()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            for content in operation.get("requestBody", {}).get("content", {}).values():
                for place in places(content["schema"], document["components"]["schemas"]):
                    found.add((f"{method.upper()} {path}", place))
    return found


def test_every_place_of_an_id_is_asked():
    found, asked = (
        {(re.sub(r"\{\w+\}", "{}", call), place) for call, place in places_}
        for places_ in (described(), BODIES)
    )

    assert found - asked == set()
    assert asked - found == set()


def with_tasks(world: World) -> World:
    """Return the world with the tasks that its rows are of, one to come, and a calendar's name."""
    letter = DeadLetter.objects.get(pk=world.ids["letter_id"])
    runs: dict[str, Any] = {
        name: Execution.objects.get(pk=world.ids[f"{name}_id"]) for name in _RUN_NAMES
    }
    tasks = {f"task_of_{name}": one.task_id for name, one in {"letter": letter, **runs}.items()}
    made = make_task(world.tenant, once()).id
    name = Calendar.objects.get(pk=world.ids["calendar_id"]).name
    return replace(world, ids=world.ids | tasks | {"once_id": made, "calendar": name})


@pytest.fixture(scope="module")
def alpha(world: World) -> World:
    """Return the world of the tenant whose ids are foreign."""
    return with_tasks(world)


@pytest.fixture(scope="module")
def beta(world: World) -> World:
    """Return the world of another tenant, who calls."""
    # Without runs: no work of the other world is in the way.
    return with_tasks(
        make_world(lambda tenant: {"workflow_id": make_workflow(tenant, _APPROVES).id}, BETA)
    )


@pytest.fixture(scope="module")
def caller(beta: World) -> ApiClient:
    made = create_api_key(
        beta.tenant, name="caller", scopes=SCOPES, owner=True, actor=COMMAND, by=OPERATOR
    )
    return ApiClient(made[1])


def answers(asked: tuple[str, str], caller: ApiClient, beta: World, named: World) -> Any:
    """Return what Beta is answered about an id of no row, and about the named world's."""
    unknown = replace(named, ids={name: beside(one) for name, one in named.ids.items()})
    method, path = asked[0].split()
    found = []
    for key, of in enumerate((unknown, named)):
        sent = filled(BODIES[asked], {**of.ids, "own_member": beta.ids["member"]})
        with undone():
            got = caller.call(
                method,
                beta.path(path),
                sent,
                idempotency_key=f"body-{key}",
            )
            said = {name: one for name, one in got.json().items() if name not in _OWN}
            found.append(
                (got.status_code, plain(repr(said), named, unknown), rows_of(named.tenant))
            )
    return found


@pytest.mark.parametrize("asked", list(BODIES), ids=" ".join)
def test_a_foreign_id_in_a_body_is_answered_as_an_unknown_one(
    alpha: World, beta: World, caller: ApiClient, asked: tuple[str, str]
):
    before = rows_of(alpha.tenant)

    unknown, foreign = answers(asked, caller, beta, alpha)

    assert unknown == foreign
    assert foreign[0] < 500
    assert foreign[2] == before


@pytest.mark.parametrize("asked", list(BODIES), ids=" ".join)
def test_an_id_of_ones_own_is_taken(beta: World, caller: ApiClient, asked: tuple[str, str]):
    unknown, own = answers(asked, caller, beta, beta)

    assert own[0] < 300, own[1]
    assert unknown[:2] != own[:2] or unknown[2] != own[2]
