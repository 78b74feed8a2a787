"""Calls that schemathesis makes up from the API's document, aimed at rows that there are.

Each is made once, and sent with any number of keys. Two runs make the same calls.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any
from uuid import UUID

import requests
import schemathesis
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from hypothesis import HealthCheck, Phase, settings
from schemathesis import Case, GenerationMode
from schemathesis.config import SchemathesisConfig
from schemathesis.core.parameters import ParameterLocation
from schemathesis.core.transport import Response
from schemathesis.generation.hypothesis.builder import (
    HypothesisTestConfig,
    HypothesisTestMode,
    create_test,
)
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    is_unexpected_http_status_case,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.specs.openapi.schemas import OpenApiSchema

from tests.support.api import ApiClient

#: As what a call is answered has to be in the document.
CHECKS = [status_code_conformance, content_type_conformance, response_schema_conformance]
_HERE = "http://testserver"
#: Of so many calls, the last names what schemathesis has made up, and the others rows.
_AIMED_OF = 4
#: Of so many optional parameters, one stays in a call that is aimed: all together match no row.
_KEPT_OF = 3
#: For so many covering calls, there is one more that reaches no view.
_ASTRAY_OF = 10
#: For each covering call that is taken, so many are made.
_MADE_FOR_ONE = 10
_MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
#: The name of a parameter or a field -> what it may name, each of the type that it has there.
Known = Mapping[str, list[Any]]


@dataclass(frozen=True)
class Aims:
    """The rows that calls name: in their paths, and elsewhere."""

    paths: Known
    fields: Known
    #: The name of an operation -> bodies that it takes: each of its fields is then made up alone.
    bodies: Known


@dataclass(frozen=True)
class Call:
    """A call as it goes over the wire, without a key."""

    case: Case
    sent: requests.PreparedRequest
    #: Whether its path names rows.
    is_aimed: bool

    def __str__(self) -> str:
        return f"{self.sent.method} {self.sent.path_url} {_bytes(self.sent.body)[:300]!r}"

    def ask(self, client: ApiClient) -> Any:
        """Send the call as the client's key."""
        given = self.sent.headers.items()
        # Nothing is compressed: the answers are searched.
        headers = {name: _text(value) for name, value in given if name not in _NOT_SENT}
        return client.call(
            str(self.sent.method), self.sent.path_url, _bytes(self.sent.body), **headers
        )

    def differs(self, answer: Any) -> str:
        """Return in what the answer is not what the document says; "" for nothing."""
        try:
            self.case.validate_response(_received(answer, self.sent), checks=CHECKS)
        except schemathesis.errors.FailureGroup as found:
            return _said(found)
        return ""


_NOT_SENT = {"Accept-Encoding", "Authorization", "Content-Length", "Connection", "User-Agent"}


def load_document() -> OpenApiSchema:
    """Return the API's document, as it is published."""
    found = OpenApiJsonRenderer().render(SchemaGenerator().get_schema(request=None, public=True))
    # Keys are the tests' own.
    config = SchemathesisConfig.from_dict({"generation": {"with-security-parameters": False}})
    return schemathesis.openapi.from_dict(json.loads(found), config=config)


def fault_of_answer(document: OpenApiSchema, name: str, answer: Any) -> str:
    """Return in what an operation's answer is not what the document says; "" for nothing."""
    sent = requests.Request("GET", _HERE).prepare()
    try:
        document.find_operation_by_id(name).validate_response(_received(answer, sent))
    except schemathesis.errors.FailureGroup as found:
        return _said(found)
    return ""


def make_calls(
    document: OpenApiSchema, name: str, aims: Aims, *, drawn: int, covering: int
) -> list[Call]:
    """Return calls of an operation: of its examples, that many drawn, and that many covering ones.

    The covering ones keep each constraint of each part of the document at its boundary, or violate
    it; they are taken evenly from the first ones that schemathesis makes of each of the two.
    """
    operation = document.find_operation_by_id(name)
    modes = [HypothesisTestMode.EXAMPLES, HypothesisTestMode.FUZZING]
    cases = _cases(operation, modes, drawn)
    if covering:
        found = [case for mode in _MODES for case in _covering(operation, mode, covering)]
        astray = [case for case in found if _is_astray(case)]
        others = [case for case in found if not _is_astray(case)]
        cases += evenly(others, covering) + evenly(astray, covering // _ASTRAY_OF)
    return [_aimed(case, number, name, aims) for number, case in enumerate(cases)]


def evenly(found: list[Any], count: int) -> list[Any]:
    """Return that many of the list, the first one and others at equal distances."""
    if len(found) <= count:
        return found
    return [found[number * len(found) // count] for number in range(count)]


def content_of(answer: Any) -> bytes:
    """Return the body of an answer, also of one that is streamed."""
    if not getattr(answer, "streaming", False):
        return bytes(answer.content)
    if not hasattr(answer, "whole"):
        answer.whole = b"".join(answer)  # a stream can be read once
    return bytes(answer.whole)


def _received(answer: Any, sent: requests.PreparedRequest) -> Response:
    return Response(
        status_code=answer.status_code,
        headers={name: [value] for name, value in answer.items()},
        content=content_of(answer),
        request=sent,
        elapsed=0.0,
        verify=False,
        encoding="utf-8",
    )


def _said(found: schemathesis.errors.FailureGroup) -> str:
    return "; ".join(f"{one.title}: {one.message}" for one in found.exceptions)


def _cases(operation: Any, modes: list[HypothesisTestMode], count: int) -> list[Case]:
    found: list[Case] = []

    def collect(case: Case) -> None:
        found.append(case)

    made = create_test(
        operation=operation,
        test_func=collect,
        config=HypothesisTestConfig(
            project=operation.schema.config,
            modes=modes,
            settings=settings(
                max_examples=count,
                derandomize=True,
                database=None,
                deadline=None,
                phases=[Phase.explicit, Phase.generate],
                suppress_health_check=list(HealthCheck),
            ),
        ),
    )
    made()
    return found


def _covering(operation: Any, mode: GenerationMode, count: int) -> list[Case]:
    """Return the first covering cases, some times as many as are taken: of all there are thousands.

    Their making is most of the cost.
    """
    schema = operation.schema
    # It makes an unexpected method once for each path, whichever of its operations comes first.
    schema.coverage_unexpected_methods_seen.clear()
    config = schema.config.generation_for(
        operation=operation, phase=HypothesisTestMode.COVERAGE.value
    )
    made = schema.iter_coverage_cases(operation, generation_modes=[mode], generation_config=config)
    return list(islice(made, count * _MADE_FOR_ONE))


def _is_astray(case: Case) -> bool:
    """Return whether it is a method, a media type or a path that there is not."""
    meta = case.meta
    is_elsewhere = meta is not None and meta.is_negative_at(ParameterLocation.PATH)
    return is_elsewhere or is_unexpected_http_status_case(case)


def _aimed(case: Case, number: int, name: str, aims: Aims) -> Call:
    """Return the call with ids of rows in place of made-up ones."""
    meta = case.meta
    wrong = {
        place for place in ParameterLocation if meta is not None and meta.is_negative_at(place)
    }
    # What it is made to be wrong in stays what it was made as.
    case.freeze_metadata()
    is_aimed = number % _AIMED_OF != _AIMED_OF - 1
    if is_aimed:
        _aim(case, number, aims, wrong)
        if ParameterLocation.BODY not in wrong and number % 2 and isinstance(case.body, dict):
            case.body = _alone(case.body, number // 2, aims.bodies.get(name, []))
    if "Idempotency-Key" in case.headers and ParameterLocation.HEADER not in wrong:
        # The same one would be answered as the first call was.
        case.headers["Idempotency-Key"] = f"made-{number}"
    given = case.as_transport_kwargs(_HERE)
    names_rows = is_aimed and "{" in case.path and ParameterLocation.PATH not in wrong
    return Call(case, requests.Request(**given).prepare(), names_rows)


def _aim(case: Case, number: int, aims: Aims, wrong: set[ParameterLocation]) -> None:
    if ParameterLocation.PATH not in wrong:
        case.path_parameters = {
            name: _pick(aims.paths[name], number) for name in case.path_parameters
        }
    if isinstance(case.query, dict):
        fields = _fields(case, aims, ParameterLocation.QUERY in wrong)
        query = _filled(case.query, "", number, fields)
        case.query = query if ParameterLocation.QUERY in wrong else _few(query, number)
    if isinstance(case.body, dict | list):
        fields = _fields(case, aims, ParameterLocation.BODY in wrong)
        case.body = _filled(case.body, "", number, fields)
    if ParameterLocation.HEADER not in wrong:
        # A made-up version would be all that is looked at.
        case.headers.pop("If-Match", None)


def _fields(case: Case, aims: Aims, is_wrong: bool) -> Known:
    """Return what the fields of the call may name; only ids where it has to stay wrong."""
    kind = case.path.split("/")[2]
    ids = {"dlq": "letter_id", "executions": "execution_id"}.get(kind, "task_id")
    fields = {**aims.fields, "ids": aims.paths[ids]}
    return {
        name: found for name, found in fields.items() if not is_wrong or _is_uuid(str(found[0]))
    }


def _few(query: dict[str, Any], number: int) -> dict[str, Any]:
    kept = [name for place, name in enumerate(query) if (number + place) % _KEPT_OF == 0]
    # A made-up cursor is refused before anything else is looked at.
    return {name: query[name] for name in kept if name != "cursor"}


def _alone(body: dict[str, Any], number: int, known: list[Any]) -> dict[str, Any]:
    """Return a body that the operation takes, with one made-up field; the body if none is known."""
    if not known:
        return body
    taken: dict[str, Any] = {**_pick(known, number)}
    if body:
        name = _pick(sorted(body), number)
        taken[name] = body[name]
    return taken


def _filled(value: Any, name: str, number: int, known: Known) -> Any:
    if isinstance(value, dict):
        return {key: _filled(part, key, number, known) for key, part in value.items()}
    if isinstance(value, list):
        return [_filled(part, name, number + place, known) for place, part in enumerate(value)]
    found = known.get(name)
    return _pick(found, number) if found and _is_like(value, found[0]) else value


def _is_like(value: Any, known: Any) -> bool:
    """Return whether a row can be named where schemathesis has put the value."""
    if isinstance(known, str) and _is_uuid(known):
        return isinstance(value, str) and _is_uuid(value)
    return type(value) is type(known)


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _pick(found: list[Any], number: int) -> Any:
    return found[number % len(found)]


def _bytes(body: Any) -> bytes:
    if body is None:
        return b""
    return body.encode() if isinstance(body, str) else bytes(body)


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")
