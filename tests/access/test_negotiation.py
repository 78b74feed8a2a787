"""Every call serves callers that accept its type, and refuses others with 406, changing nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from shared.conf import conf
from tenants.models import Tenant
from tests.access.operations import BY_TOKEN, OPERATIONS, Operation
from tests.access.stored_rows import StoredRows
from tests.access.world import Caller, World, undone
from tests.support.api import ApiClient

pytestmark = pytest.mark.django_db
_ALL = (*OPERATIONS, *BY_TOKEN)
_EACH = list({operation.call: operation for operation in _ALL}.values())
_BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"
_TAKEN = (
    "",
    "*/*",
    "application/*",
    "application/json",
    "application/problem+json",
    "application/json;q=0.1, text/html",
    _BROWSER,
)
_REFUSED = ("application/xml", "text/html", "application/json;q=0")
_PROBLEM = "application/problem+json"


@pytest.fixture(autouse=True)
def all_calls_answer(settings: Any) -> None:
    """Let keys ask about the installation: where processes are public."""
    settings.PUNCTUAL = replace(conf(), processes_public=True)


@pytest.mark.parametrize("operation", _EACH, ids=lambda operation: operation.call)
def test_an_error_keeps_its_own_status_and_type_whatever_is_accepted(
    world: World, callers: dict[str, Caller], operation: Operation
):
    def refusals(of: Caller, accept: str) -> tuple[int, str]:
        method, template = operation.call.split()
        answer = of.client.call(method, world.path(template), operation.body and {}, accept=accept)
        return answer.status_code, answer["Content-Type"]

    accepted = (*_TAKEN, *_REFUSED)
    assert {refusals(callers["no key"], accept) for accept in accepted} == {(401, _PROBLEM)}
    if operation.method == "GET" and operation.foreign == 404 and operation.needs:
        with undone():
            stranger = callers["a foreign owner's key"]
            assert {refusals(stranger, accept) for accept in _REFUSED} == {(404, _PROBLEM)}


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.call)
def test_a_caller_that_rules_the_answer_out_is_told_the_type_and_nothing_changes(
    world: World, stored: StoredRows, callers: dict[str, Caller], operation: Operation
):
    owner = callers["an owner's key"]

    for accept in _REFUSED:
        refused = operation.ask(world, owner, "once", accept=accept)
        problem = refused.json()
        assert (refused.status_code, refused["Content-Type"]) == (406, _PROBLEM)
        assert "application/json" in problem["detail"]
        assert [error["pointer"] for error in problem["errors"]] == ["Accept"]
    assert stored.changed() == []


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.call)
def test_a_caller_that_accepts_the_type_among_others_is_served(
    world: World, callers: dict[str, Caller], operation: Operation
):
    owner = callers["an owner's key"]

    for accept in ("application/json", "application/json;q=0.1, text/html", _BROWSER):
        with undone():
            # Keys of such tenants act for the operator.
            Tenant.objects.update(unlimited=operation.of_operators)
            answer = operation.ask(world, owner, "once", accept=accept)
            assert answer.status_code < 300, answer.content


def test_accepting_plain_text_alone_suffices_for_a_log(world: World, callers: dict[str, Caller]):
    reader = callers["read"].client
    log = f"/v1/executions/{world.ids['ended_id']}/log"

    for accept in ("text/plain", "text/*", "application/json;q=0, */*"):
        assert reader.get(log, accept=accept).status_code == 200
    assert reader.get("/v1/tasks", accept="text/plain").status_code == 406
    assert reader.get("/v1/pools", accept="application/json;q=0, */*").status_code == 406
    # Lists are files, too.
    assert reader.get("/v1/tasks", accept="application/json;q=0, */*").status_code == 200
    assert "text/plain" in reader.get(log, accept="image/png").json()["detail"]


@pytest.mark.parametrize("accept", ["application/xml", "text/html", _BROWSER, "application/json"])
def test_a_path_that_there_is_not_is_a_problem_whatever_is_accepted(accept: str):
    answer = ApiClient().get("/v1/nowhere", accept=accept)

    assert (answer.status_code, answer["Content-Type"]) == (404, _PROBLEM)
