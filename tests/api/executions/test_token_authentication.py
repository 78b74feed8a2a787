from __future__ import annotations

from drf_spectacular.generators import SchemaGenerator

PATHS = ("heartbeat", "complete", "fail", "release")


def test_the_document_says_which_calls_take_the_executions_own_token():
    document = SchemaGenerator().get_schema(request=None, public=True)

    assert document["components"]["securitySchemes"]["executionToken"] == {
        "type": "apiKey",
        "in": "header",
        "name": "X-Execution-Token",
    }
    for verb in PATHS:
        call = document["paths"][f"/v1/executions/{{execution_id}}/{verb}"]["post"]
        assert call["security"] == [{"executionToken": []}]
