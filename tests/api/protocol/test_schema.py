from __future__ import annotations

import pytest
from drf_spectacular.generators import SchemaGenerator


@pytest.fixture(scope="module")
def document():
    return SchemaGenerator().get_schema(request=None, public=True)


def test_every_operation_has_one_line_that_says_what_it_does(document):
    summaries = {
        f"{method} {path}": operation.get("summary", "")
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }

    without = [name for name, text in summaries.items() if not 0 < len(text) <= 100]
    assert without == []
    assert summaries["get /v1/event-subscriptions"] == "List the subscriptions, newest first"


def test_every_operation_documents_its_problems(document):
    operation = document["paths"]["/v1/api-keys/{key_id}"]["delete"]

    assert {"204", "401", "403", "404", "409", "412", "422", "429", "503"} <= set(
        operation["responses"]
    )
    content = operation["responses"]["404"]["content"]
    assert content["application/problem+json"]["schema"] == {"$ref": "#/components/schemas/Problem"}
    assert "Problem" in document["components"]["schemas"]


@pytest.mark.parametrize(
    ("path", "method", "status", "said"),
    [
        ("/v1/receiver", "get", "404", "No test receiver runs here (`no_receiver`)."),
        ("/v1/receiver/requests", "get", "404", "No test receiver runs here (`no_receiver`)."),
        ("/v1/receiver/requests", "delete", "404", "No test receiver runs here (`no_receiver`)."),
        (
            "/v1/executions/{execution_id}/log",
            "get",
            "409",
            "No key in use opens the log (`decryption_failed`).",
        ),
    ],
)
def test_problems_that_the_form_of_a_path_does_not_lead_to_expect_are_documented(
    document, path, method, status, said
):
    problem = document["paths"][path][method]["responses"][status]

    assert problem["description"] == said
    assert "application/problem+json" in problem["content"]


def test_a_list_answers_nothing_that_is_only_said_of_others(document):
    assert not {"404", "409"} & set(document["paths"]["/v1/tasks"]["get"]["responses"])


def test_idempotency_and_if_match_are_documented_where_they_are_honoured(document):
    def headers(path, method):
        parameters = document["paths"][path][method].get("parameters", [])
        return {found["name"] for found in parameters if found["in"] == "header"}

    assert headers("/v1/api-keys", "post") == {"Idempotency-Key"}
    assert headers("/v1/api-keys/{key_id}", "delete") == {"Idempotency-Key"}
    assert headers("/v1/me", "patch") == {"Idempotency-Key", "If-Match"}
    assert headers("/v1/tasks/{task_id}/rollback", "post") == {"Idempotency-Key", "If-Match"}
    assert headers("/v1/api-keys", "get") == set()


def test_query_parameters_are_documented_as_they_are_read(document):
    parameters = {
        found["name"]: found["schema"]
        for found in document["paths"]["/v1/api-keys"]["get"]["parameters"]
    }

    assert parameters["limit"] == {"type": "integer", "minimum": 1, "maximum": 200}
    assert set(parameters) == {"limit", "page", "cursor"}


def test_the_scope_is_part_of_the_description(document):
    assert "`admin`" in document["paths"]["/v1/api-keys"]["get"]["description"]
    assert "Scope" not in document["paths"]["/v1/me"]["get"]["description"]


def test_what_a_change_answers_to_a_key_that_may_not_read_is_part_of_the_description(document):
    paths = document["paths"]
    edited = paths["/v1/tasks/{task_id}"]["patch"]["description"]

    assert edited.endswith(
        "Without the scope `read` the answer has, of its fields, only `id`, `status`, `version`."
    )
    assert "Without" not in paths["/v1/api-keys"]["post"]["description"]
    assert "Without" not in paths["/v1/tasks/{task_id}"]["get"]["description"]


def test_lists_are_documented_under_their_key(document):
    page = document["components"]["schemas"]["ApiKeysPage"]["properties"]

    assert set(page) == {"api_keys", "pagination"}
