from __future__ import annotations

import pytest
from drf_spectacular.generators import SchemaGenerator

from bench.answers.questions import Endpoint, Forgotten, Question, endpoints, forgotten, questions

_IDS = {
    name: ["1", "2"]
    for name in (
        "alert_id calendar_id channel_id entry_id erasure_id event_subscription_id execution_id"
        " host invitation_id job_id key key_id letter_id member_id name pause_id pool rule_id"
        " run_id series task_id unknown view_id window_id worker_id workflow_id"
    ).split()
}


def document(**paths):
    return {
        "paths": {f"/v1/{name}": {"get": {"parameters": found}} for name, found in paths.items()}
    }


def parameter(name, **schema):
    return {"in": "query", "name": name, "schema": {"type": "string", **schema}}


def test_every_get_of_the_api_is_asked_with_each_of_its_parameters():
    whole = SchemaGenerator().get_schema(request=None, public=True)

    found = endpoints(whole, _IDS)
    asked = list(questions(found, _IDS))

    gets = {path for path, methods in whole["paths"].items() if "get" in methods}
    assert {question.template for question in asked} == gets
    assert forgotten(found, asked) == []


def test_a_path_that_is_not_called_is_found():
    found = [Endpoint("/v1/tasks"), Endpoint("/v1/new")]

    assert forgotten(found, [Question("/v1/tasks", "/v1/tasks")]) == ["/v1/new"]


def test_a_parameter_that_is_not_sent_is_found():
    found = [Endpoint("/v1/tasks", {"q": ("a",), "limit": ("1",)})]

    assert forgotten(found, [Question("/v1/tasks", "/v1/tasks", "q=a")]) == ["/v1/tasks?limit"]


def test_a_placeholder_without_a_value_is_refused():
    with pytest.raises(Forgotten, match=r"/v1/steps/\{step_id\}: step_id"):
        endpoints({"paths": {"/v1/steps/{step_id}": {"get": {}}}}, _IDS)


def test_a_parameter_without_a_value_is_refused():
    with pytest.raises(Forgotten, match=r"/v1/tasks: \?colour"):
        endpoints(document(tasks=[parameter("colour")]), _IDS)


def test_values_come_from_the_document_where_it_lists_them():
    of_tasks = [parameter("type", enum=["A", "B"]), parameter("open", type="boolean")]

    [found] = endpoints(document(tasks=of_tasks), _IDS)

    assert found.parameters == {"type": ("A", "B"), "open": ("true", "false")}
