from __future__ import annotations

from itertools import product

import jsonschema_rs
import pytest
from drf_spectacular.openapi import AutoSchema

from api.tasks import definition_serializers, preview_schemas, schemas
from shared.exceptions import InvalidInput
from tasks.definition import to_long
from tasks.presentation import present_task
from tasks.preview import preview
from tests.support.presented_tasks import ATask
from tests.tasks.bodies import (
    AUTHS,
    LONG,
    MINIMAL,
    NOW,
    ONCE,
    SHORT,
    TARGETS,
    changed,
    create,
    patch,
    problems,
    with_target,
)

ALL = [
    schemas.TASK_CREATE,
    schemas.TASK_EDIT,
    schemas.TASK,
    schemas.PREVIEW_REQUEST,
    preview_schemas.PREVIEW,
]
EVERY = MINIMAL | {"schedule": {"every": "PT5M"}}
LISTED = MINIMAL | {"retry_policy": {"backoff": "listed", "delays_seconds": [1, 2.5]}}


def fits(schema, value):
    return jsonschema_rs.Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize("schema", ALL)
def test_every_schema_is_one(schema):
    assert jsonschema_rs.meta.is_valid(schema)


@pytest.mark.parametrize(
    "body",
    [
        LONG,
        SHORT,
        MINIMAL,
        ONCE,
        EVERY,
        LISTED,
        MINIMAL | {"schedule": {"delay_seconds": 0.5}},
        {"every": "PT5M", "start_date": None, "payload": SHORT["payload"]},
        to_long(create(LONG)),
        to_long(create(ONCE)),
        to_long(create(LISTED)),
        MINIMAL | {"payload_ref": "s3://bucket/key", "owner": "ops@example.com"},
        {**SHORT, "owner": None, "payload_ref": None},
        *(with_target(target) for target in TARGETS.values()),
        *(to_long(create(with_target(target)), secrets=True) for target in TARGETS.values()),
        *(with_target({**MINIMAL["target"], "auth": auth}) for auth in AUTHS.values()),
        MINIMAL | {"retry_policy": {"stop_on": [], "rules": [{"statuses": ["429"]}]}},
    ],
)
def test_what_is_taken_fits_the_schema(body):
    create(body)

    assert fits(schemas.TASK_CREATE, body)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("oops", 1),
        ("id", "x"),
        ("priority", 10),
        ("priority", "5"),
        ("name", ""),
        ("name", "x" * 201),
        ("type", "ONE_TIME"),
        ("labels/team", 5),
        ("payload_ref", 5),
        ("payload_ref", ""),
        ("owner", ["x"]),
        ("owner", "x" * 255),
        ("depends_on", ["0199b6f0-0000-7000-8000-000000000001"]),
        ("on_dependency_failure", "stop"),
        ("cron_expression", "* * * * *"),
        ("schedule/oops", 1),
        ("schedule/every", "PT5M"),
        ("schedule/timezone", None),
        ("schedule/overlap_policy", "once"),
        ("schedule/max_concurrent", 0),
        ("schedule/working_day", 32),
        ("schedule/calendars", [1]),
        ("schedule/max_occurrences", 0),
        ("target/oops", 1),
        ("target/kind", "lambda"),
        ("target/method", "TRACE"),
        ("target/timeout_seconds", 0),
        ("target/template", 1),
        ("target/auth", {}),
        ("target/success/statuses", ["6xx"]),
        ("target/success/json", {}),
        ("retry_policy/max_attempts", 26),
        ("retry_policy/retry_on", ["dns"]),
        ("retry_policy/delays_seconds", []),
        ("retry_policy/stop_on", "404"),
        ("retry_policy/rules", [{}]),
        ("retry_policy/max_age_seconds", 0),
        ("target/body_format", "xml"),
        ("target/completion", "later"),
        ("target/auth", {"type": "basic", "username": "u"}),
        ("target/auth", {"type": "digest"}),
        ("target/tls", {"ca": "x"}),
        ("target/proxy", {}),
        ("target/pool", "batch-etl"),
        ("target/success/header", {"name": "X"}),
    ],
)
def test_what_is_refused_for_its_shape_does_not_fit_the_schema(path, value):
    body = changed(LONG, path, value)

    assert problems(create, body)
    assert not fits(schemas.TASK_CREATE, body)


def options_of(schema):
    """Return the schema, or each of those that it is a choice of."""
    choice = schema.get("oneOf") or schema.get("anyOf")
    return [one for option in choice for one in options_of(option)] if choice else [schema]


def bounded_fields():
    """Return part, kind of target or '', field, lowest and highest value of each number."""
    # A task's definition is written in a long and a short form; only the long one has parts.
    forms = [one for one in options_of(schemas.TASK_CREATE) if "target" in one["properties"]]
    for long, part in product(forms, ("schedule", "target", "retry_policy")):
        for option in options_of(long["properties"][part]):
            fields = option.get("properties", {})
            kind = fields.get("kind", {"enum": [""]})["enum"][0]
            for name, field in fields.items():
                for one in options_of(field):
                    if "minimum" in one and "maximum" in one:
                        yield part, kind, name, one["minimum"], one["maximum"]


BOUNDED = sorted(set(bounded_fields()))


@pytest.mark.parametrize(
    ("part", "kind", "name", "lowest", "highest"),
    BOUNDED,
    ids=[f"{part} {kind or '-'} {name}" for part, kind, name, *_ in BOUNDED],
)
def test_a_number_has_the_bounds_of_the_schema(part, kind, name, lowest, highest):
    base = with_target(TARGETS[kind]) if kind else LONG
    if name == "delay_seconds":
        base = {**ONCE, "schedule": {}}

    def is_within(value):
        try:
            create(changed(base, f"{part}/{name}", value))
        except InvalidInput as refused:
            # A value within the bounds may be wrong for other reasons, which name no bounds.
            found = {e.message for e in refused.errors if e.pointer == f"#/{part}/{name}"}
            return not any("from" in message for message in found)
        return True

    whole = isinstance(lowest, int) and isinstance(highest, int)
    step = 1 if whole else 0.0005
    assert [is_within(value) for value in (lowest - step, lowest, highest, highest + 1)] == [
        False,
        True,
        True,
        False,
    ]


def test_the_bounded_numbers_of_a_task_are_found_in_its_schema():
    assert len(BOUNDED) > 20


@pytest.mark.parametrize(
    "edit",
    [
        {},
        {"status": "PAUSED"},
        {"labels": {"team": None}, "payload": None, "retry_policy": None},
        {"schedule": {"every": "PT5M", "end_at": None}},
        {"target": {"headers": {"X-Team": None}, "timeout_seconds": None}},
        {"cron_expression": "@daily", "end_date": None},
        to_long(create(LONG)),
        *({"target": target} for target in TARGETS.values()),
        {"target": {"kind": "command", "command": "backup", "environment": {"A": None}}},
        {"target": {"success": {"json": {"path": "$.a", "equals": None}, "header": None}}},
        {"target": {"proxy": None, "auth": None, "tls": {}}},
        {"retry_policy": {"rules": None, "stop_header": None}},
    ],
)
def test_edits_that_are_taken_fit_the_schema(edit):
    patch(create(LONG), edit)

    assert fits(schemas.TASK_EDIT, edit)


@pytest.mark.parametrize(
    "edit",
    [
        {"status": "RUNNING"},
        {"oops": 1},
        {"schedule": {"oops": 1}},
        {"target": {"oops": 1}},
        {"target": {"kind": "lambda"}},
        {"target": {"success": {"json": {"path": "$.a"}}}},
        {"target": {"auth": {"type": "digest"}}},
    ],
)
def test_edits_that_are_refused_do_not_fit_the_schema(edit):
    assert problems(patch, create(LONG), edit)
    assert not fits(schemas.TASK_EDIT, edit)


def test_a_part_of_an_authentication_may_be_edited():
    edit = {"target": {"auth": {"token": "new"}}}
    current = create(with_target({**MINIMAL["target"], "auth": AUTHS["bearer"]}))

    assert patch(current, edit)[0].target["auth"]["token"] == "new"
    assert fits(schemas.TASK_EDIT, edit)


@pytest.mark.parametrize(
    "body",
    [
        *(LONG, SHORT, ONCE, EVERY, LISTED),
        *(with_target(target) for target in TARGETS.values()),
        *(with_target({**MINIMAL["target"], "auth": auth}) for auth in AUTHS.values()),
        with_target({**MINIMAL["target"], "tls": {}}),
    ],
)
def test_answers_fit_the_schema(body):
    assert fits(schemas.TASK, present_task(ATask(), create(body)))


def test_previews_fit_the_schema():
    body = {"schedule": {"every": "PT5M"}, "count": 2, "from": "2026-11-20T00:00:00Z"}

    assert fits(schemas.PREVIEW_REQUEST, body)
    assert fits(schemas.PREVIEW_REQUEST, {"delay_seconds": 5})
    assert not fits(schemas.PREVIEW_REQUEST, {"schedule": {"every": "PT5M"}, "count": 0})
    assert fits(preview_schemas.PREVIEW, preview(body, now=NOW))


@pytest.mark.parametrize(
    ("serializer", "name", "schema"),
    [
        (definition_serializers.TaskCreateSerializer, "TaskCreate", schemas.TASK_CREATE),
        (definition_serializers.TaskEditSerializer, "TaskEdit", schemas.TASK_EDIT),
        (definition_serializers.TaskSerializer, "Task", schemas.TASK),
        (
            definition_serializers.SchedulePreviewSerializer,
            "SchedulePreview",
            preview_schemas.PREVIEW,
        ),
    ],
)
def test_the_openapi_document_takes_the_schemas_as_components(serializer, name, schema):
    extension = definition_serializers.DocumentedSerializerExtension(serializer())

    assert extension.get_name(AutoSchema(), "response") == name
    assert extension.map_serializer(AutoSchema(), "response") == schema
