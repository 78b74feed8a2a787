"""Every call answers a caller that accepts JSON, and refuses one that rules it out with 406."""

from __future__ import annotations

from uuid import UUID

import pytest

from tests.access.operations import BY_TOKEN, OPERATIONS, Operation
from tests.support.api import ApiClient

pytestmark = pytest.mark.django_db
_EACH = list({operation.call: operation for operation in (*OPERATIONS, *BY_TOKEN)}.values())
_TAKEN = (
    "",
    "*/*",
    "application/*",
    "application/json",
    "application/problem+json",
    "application/json, text/plain, */*",
    "text/html;q=0.9, */*;q=0.1",
)
_REFUSED = ("application/xml", "text/html", "application/json;q=0", "application/json;q=0, */*")


class _Anything(dict[str, object]):
    def __missing__(self, name: str) -> object:
        return UUID(int=1) if name.endswith("_id") else "x"


def _ask(operation: Operation, accept: str) -> tuple[int, str]:
    method, template = operation.call.split()
    path = template.format_map(_Anything())
    answer = ApiClient().call(method, path, operation.body and {}, accept=accept)
    return answer.status_code, answer["Content-Type"]


@pytest.mark.parametrize("operation", _EACH, ids=lambda operation: operation.call)
def test_a_call_is_refused_with_406_only_where_its_accept_header_rules_json_out(
    operation: Operation,
):
    # Without a key: 401 shows that negotiation succeeded, 406 that it failed.
    problem = "application/problem+json"

    assert {_ask(operation, accept) for accept in _TAKEN} == {(401, problem)}
    # A log is plain text, which the last header accepts.
    refused = _REFUSED[:-1] if operation.name == "get_execution_log" else _REFUSED
    assert {_ask(operation, accept) for accept in refused} == {(406, problem)}


def test_accepting_plain_text_alone_suffices_for_a_log():
    log = next(one for one in OPERATIONS if one.name == "get_execution_log")
    other = next(one for one in OPERATIONS if one.name == "get_execution")

    assert {_ask(log, accept)[0] for accept in ("text/plain", "text/*")} == {401}
    assert _ask(other, "text/plain")[0] == 406
