"""Every page and every reading call, as a member and a key without the right to see payloads.

All that was sent, answered or printed holds HIDDEN_TEXT; those with the right are shown it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from schemathesis.specs.openapi.schemas import OpenApiSchema

from events.models import AuditEntry
from executions.bulk.jobs import create_bulk_job
from shared.payload_sight import HIDDEN
from tenants.choices import SCOPES, Role
from tenants.models import Membership
from tests.access.console_routes import ROUTES, WITHOUT_TENANT, path_of
from tests.access.hidden import HIDDEN_TEXT, make_hidden_world
from tests.access.operations import OPERATIONS
from tests.access.world import HOST, Caller, World, undone
from tests.factories import ACTOR
from tests.support.api import ApiClient, make_key
from tests.support.made_calls import fault_of_answer, load_document

pytestmark = pytest.mark.django_db

#: What reads although it is a POST.
_READING = {"preview_edit", "preview_schedule"}
_READS = [
    one
    for one in OPERATIONS
    if one.needs <= {"read"} and (one.method == "GET" or one.name in _READING)
]
_CHANGES = [one for one in OPERATIONS if one.method != "GET" and one.name not in _READING]
#: Those of a key that may have no sight: other scopes always see payloads.
_BLIND_CHANGES = [one for one in _CHANGES if one.needs <= {"read", "operate"}]
#: What a bulk job changes and what an alert says: showing them is no reading of a payload.
_OF_NO_PAYLOAD = {"acknowledge_alert", "assign_alert", "cancel_bulk_job", "mute_alert"}
#: The run of the world waits for an approval.
_STILL_RUNS = {"retry_workflow_run"}
#: Calls that are refused as a whole.
_REFUSED = {"get_execution_log", "list_received_requests"}


def _id(operation: Any) -> str:
    return f"{operation.name}-{OPERATIONS.index(operation)}"


@pytest.fixture(scope="module")
def hidden(_transaction: None, _quiet: None) -> World:
    """Return the world with rows in which all that counts as payload holds the text."""
    return make_hidden_world()


@pytest.fixture
def changing(hidden: World) -> World:
    """Return the world with rows that have not ended, so that changes of them are done."""
    ids = hidden.ids
    rows = {"execution_id": ids["waiting_id"], "letter_id": ids["unsettled_id"]}
    return replace(hidden, ids={**ids, **rows})


def _member(world: World, role: str, *, sees: bool) -> Client:
    user = User.objects.create_user(f"{role} {sees}")
    Membership.objects.create(user=user, tenant=world.tenant, role=role, sees_payloads=sees)
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


@pytest.fixture(scope="module")
def blind_members(hidden: World) -> list[Client]:
    return [_member(hidden, role, sees=False) for role in (Role.VIEWER, Role.OPERATOR)]


@pytest.fixture(scope="module")
def blind_key(hidden: World) -> ApiClient:
    return ApiClient(make_key(hidden.tenant, ["read", "operate"], sees_payloads=False)[1])


@pytest.fixture(scope="module")
def document() -> OpenApiSchema:
    return load_document()


@pytest.mark.parametrize("route", [one for one in ROUTES if one not in WITHOUT_TENANT])
def test_no_page_shows_payloads_to_a_member_without_the_right(
    hidden: World, blind_members: list[Client], route: str
):
    for member in blind_members:
        with undone():
            answer = member.get(path_of(route, hidden))
        assert answer.status_code < 500, route
        assert HIDDEN_TEXT not in answer.content.decode(), route


@pytest.mark.parametrize(
    "path",
    [
        "/dead-letters?view=letters",
        "/dead-letters?state=resolved&view=letters",
        "/workflow-runs/{failed_run_id}",
    ],
)
def test_lists_of_letters_and_pages_of_failed_runs_hide_the_messages_of_errors(
    hidden: World, blind_members: list[Client], path: str
):
    place = path.format(**hidden.ids)
    with undone():
        sees = _member(hidden, Role.ADMIN, sees=True).get(place)
    assert f"{HIDDEN_TEXT}-error" in sees.content.decode()

    answer = blind_members[0].get(place)

    assert answer.status_code == 200
    assert HIDDEN_TEXT not in answer.content.decode()


@pytest.mark.parametrize(
    "path",
    [
        "/workflows/{workflow_id}",
        "/tasks/{workflow_id}/explain",
        "/tasks/{workflow_id}/occurrences",
        "/executions/{run_id}/explain",
        "/executions/{failed_run_id}/explain",
    ],
)
def test_pages_of_a_workflow_show_no_payloads_without_the_right(
    hidden: World, blind_members: list[Client], path: str
):
    for member in blind_members:
        answer = member.get(path.format(**hidden.ids))

        assert answer.status_code == 200
        assert HIDDEN_TEXT not in answer.content.decode()


def test_a_bulk_job_does_not_show_what_it_sets_without_the_right(
    hidden: World, blind_members: list[Client], blind_key: ApiClient
):
    target = {
        "url": f"https://{HOST}/in?token={HIDDEN_TEXT}",
        "headers": {"X-Team": HIDDEN_TEXT},
        "success": {"body_pattern": HIDDEN_TEXT},
    }
    with undone():
        job = create_bulk_job(
            hidden.tenant.id,
            kind="tasks",
            action="set",
            filters={"ids": [str(hidden.ids["task_id"])]},
            options={"set": {"owner": "payments", "target": target}},
            name="plain",
            actor=ACTOR,
        )
        shown = blind_key.get(f"/v1/bulk-jobs/{job.id}")
        page = blind_members[0].get(f"/bulk-jobs/{job.id}")

    assert shown.json()["options"]["set"]["owner"] == "payments"
    assert (shown.status_code, page.status_code) == (200, 200)
    assert HIDDEN_TEXT not in shown.text
    assert HIDDEN_TEXT not in page.content.decode()


def test_a_bulk_job_does_not_show_the_text_that_it_searched_errors_for(
    hidden: World, blind_members: list[Client], blind_key: ApiClient
):
    with undone():
        job = create_bulk_job(
            hidden.tenant.id,
            kind="dead_letters",
            action="archive",
            filters={"q": HIDDEN_TEXT},
            options={},
            name="plain",
            actor=ACTOR,
        )
        shown = blind_key.get(f"/v1/bulk-jobs/{job.id}")
        page = blind_members[0].get(f"/bulk-jobs/{job.id}")

    assert shown.json()["filter"] == {"q": HIDDEN}
    assert page.status_code == 200
    assert HIDDEN_TEXT not in page.content.decode()


def test_pages_of_steps_of_a_run_show_no_payloads_without_the_right(
    hidden: World, blind_members: list[Client]
):
    for run in ("run_id", "failed_run_id"):
        for key in ("load", "each", "wait", "after"):
            path = f"/workflow-runs/{hidden.ids[run]}/steps/{key}"
            answer = blind_members[0].get(path)
            assert answer.status_code == 200, path
            assert HIDDEN_TEXT not in answer.content.decode(), path


@pytest.mark.parametrize("operation", _READS, ids=lambda one: one.name)
def test_no_call_shows_payloads_to_a_key_without_the_right(
    hidden: World, blind_key: ApiClient, document: OpenApiSchema, operation: Any
):
    method, template = operation.call.split()
    with undone():
        answer = blind_key.call(method, hidden.path(template), operation.body)

    assert answer.status_code < 500
    assert HIDDEN_TEXT not in answer.content.decode()
    assert not fault_of_answer(document, operation.name, answer)


@pytest.mark.parametrize("operation", _BLIND_CHANGES, ids=_id)
def test_no_change_answers_with_payloads_to_a_key_without_the_right(
    changing: World, blind_key: ApiClient, document: OpenApiSchema, operation: Any
):
    with undone():
        answer = operation.ask(changing, Caller(blind_key), "once")
        again = operation.ask(changing, Caller(blind_key), "once")

    assert answer.status_code < 300 or operation.name in _STILL_RUNS, answer.content
    assert HIDDEN_TEXT not in answer.content.decode()
    assert HIDDEN_TEXT not in again.content.decode()
    assert not fault_of_answer(document, operation.name, answer)


def test_a_change_that_answers_with_a_stored_payload_is_recorded_as_a_reading(changing: World):
    showing, unrecorded = set(), []
    for operation in _CHANGES:
        with undone():
            key = ApiClient(make_key(changing.tenant, SCOPES, owner=True)[1])
            before = AuditEntry.objects.filter(action="payload.read").count()
            answer = operation.ask(changing, Caller(key), "once")
            assert answer.status_code < 500, (operation.name, answer.content)
            if HIDDEN_TEXT in answer.content.decode():
                showing.add(operation.name)
                if AuditEntry.objects.filter(action="payload.read").count() == before:
                    unrecorded.append(operation.name)

    assert showing >= {"pause_task", "resume_task", "edit_task", "rollback_task", "clone_task"}
    assert showing >= {"pause_workflow_run", "resolve_dead_letter", "archive_dead_letter"}
    assert set(unrecorded) == _OF_NO_PAYLOAD


@pytest.mark.parametrize("name", sorted(_REFUSED))
def test_logs_and_received_requests_are_refused_without_the_right(
    hidden: World, blind_key: ApiClient, monkeypatch: pytest.MonkeyPatch, name: str
):
    from executions.triggering import receiver_requests
    from shared import payload_sight

    monkeypatch.setattr(receiver_requests, "received", lambda *_: payload_sight.require())
    [operation] = [one for one in OPERATIONS if one.name == name]

    answer = blind_key.get(hidden.path(operation.call.split()[1]))

    assert (answer.status_code, answer.json()["code"]) == (403, "payloads_hidden")


def test_those_with_the_right_are_shown_what_the_others_are_not(hidden: World):
    viewer = _member(hidden, Role.VIEWER, sees=True)
    pages = {
        route
        for route in ROUTES
        if route not in WITHOUT_TENANT
        and HIDDEN_TEXT in viewer.get(path_of(route, hidden)).content.decode()
    }
    key = ApiClient(make_key(hidden.tenant, ["read"])[1])
    calls = {
        one.name
        for one in _READS
        if HIDDEN_TEXT in key.call(one.method, hidden.path(one.call.split()[1]), one.body).text
    }

    assert pages >= {
        "tasks/<uuid:task_id>",
        "executions/<uuid:execution_id>",
        "dead-letters/<uuid:letter_id>",
        "workflow-runs/<uuid:run_id>",
        "alerts/<uuid:alert_id>",
    }
    assert calls >= {
        *("list_tasks", "get_task", "list_task_revisions", "get_execution", "get_dead_letter"),
        *("list_dead_letters", "get_workflow", "get_workflow_run"),
        *("get_alert", "get_bulk_job", "explain_execution", "list_executions"),
    }


def test_a_search_does_not_tell_the_messages_of_errors_without_the_right(
    hidden: World, blind_key: ApiClient
):
    sees = ApiClient(make_key(hidden.tenant, ["read", "operate"])[1])

    for path, rows in (("/v1/executions", "executions"), ("/v1/dlq?resolved=true", "dead_letters")):
        joint = "&" if "?" in path else "?"
        address = f"{path}{joint}q={HIDDEN_TEXT}"
        assert sees.get(address).json()[rows], path
        assert blind_key.get(address).json()[rows] == [], path
    asked = {"action": "cancel", "filter": {"q": HIDDEN_TEXT}, "dry_run": True}
    answer = blind_key.post("/v1/executions/actions", asked, idempotency_key="search")
    assert (answer.status_code, answer.json()["code"]) == (403, "payloads_hidden")


def test_an_operator_without_the_right_retries_with_the_payload_as_it_is(
    hidden: World, blind_key: ApiClient
):
    with undone():
        path = f"/v1/executions/{hidden.ids['ended_id']}/retry"
        made = blind_key.post(path, {}, idempotency_key="again").json()
        sees = ApiClient(make_key(hidden.tenant, ["read"])[1])
        shown = sees.get(f"/v1/executions/{made['id']}").json()

    assert made["id"] == shown["id"]
    assert shown["request"]["body"] == {"text": HIDDEN_TEXT}


def test_a_key_that_loses_the_right_gets_no_stored_answer_of_before(hidden: World):
    key, text = make_key(hidden.tenant, ["read", "operate"])
    path = f"/v1/tasks/{hidden.ids['task_id']}/run"
    with undone():
        first = ApiClient(text).post(path, {}, idempotency_key="once")
        type(key).objects.filter(pk=key.pk).update(sees_payloads=False)
        second = ApiClient(text).post(path, {}, idempotency_key="once")

    assert first.status_code == 202
    assert second.status_code == 422
    assert HIDDEN not in first.text
