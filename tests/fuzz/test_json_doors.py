"""JSON is judged alike at every door: the same texts pass, the same sentence refuses the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import pytest
from django.test import Client

from executions.models import Execution
from executions.payloads import payload_of
from shared.exceptions import InvalidInput
from shared.strict_json import read_json
from tasks.models import Task
from tasks.revisions import read_definition
from tenants.models import Tenant
from tests.dashboard.conftest import browser  # noqa: F401 - fixtures
from tests.factories import ApiClient, daily, make_client, make_dead_letter, make_task
from tests.support.cast import alpha  # noqa: F401 - fixtures
from tests.support.command_calls import call
from tests.support.forms import form_at

URL = "https://api.example.com/reports"
REFUSED = {
    "one more than 64 bits": '{"id": 18446744073709551616}',
    "thirty digits": '{"id": 123456789012345678901234567890}',
    "float overflow": '{"v": 1e400}',
    "float underflow": '{"v": 1e-400}',
    "NaN": '{"v": NaN}',
    "Infinity": '{"v": [-Infinity]}',
    "duplicate name": '{"a": 1, "a": 2}',
    "NUL": '{"t": "a\\u0000b"}',
    "NUL in a name": '{"a\\u0000": 1}',
    "lone surrogate": '{"t": ["\\ud83d"]}',
    "64 levels in a body": "[" * 64 + "]" * 64,
    "300 levels": "[" * 300 + "]" * 300,
    "byte order mark": "\ufeff{}",
    "trailing text": "{} x",
    "trailing comma": "[1,]",
    "cut off": '{"a": ',
}
TAKEN = {
    "unsigned 64 bits": ('{"id": 18446744073709551615}', {"id": 2**64 - 1}),
    "signed 64 bits": ('{"id": -9223372036854775808}', {"id": -(2**63)}),
    "63 levels": ("[" * 63 + "]" * 63, None),
    "surrogate pair": ('{"t": "\\ud83d\\ude00"}', {"t": "😀"}),
    "spelled escape": ('{"t": "\\\\u0000"}', {"t": "\\u0000"}),
    "white space around": (' \r\n\t{"a": 1.5} ', {"a": 1.5}),
}


@dataclass(frozen=True, slots=True)
class Doors:
    """What the doors need: a tenant with a task and a dead letter, its key and its browser."""

    tenant: Tenant
    client: ApiClient
    console: Client
    task: Task
    letter_id: str
    folder: Path

    def body(self, text: str) -> bytes:
        """Return a body of the API, or a file, that holds the text as its payload."""
        given = {"schedule": {"cron_expression": "0 8 * * *"}, "target": {"url": URL}}
        return orjson.dumps(given)[:-1] + b',"payload":' + text.encode() + b"}"

    def file(self, raw: bytes) -> str:
        path = self.folder / "given.json"
        path.write_bytes(raw)
        return str(path)


@pytest.fixture
def doors(alpha, browser, tmp_path) -> Doors:  # noqa: F811 - fixtures
    task = make_task(alpha, daily())
    letter = make_dead_letter(alpha)
    return Doors(alpha, make_client(alpha), browser(alpha), task, str(letter.pk), tmp_path)


def _rest(doors: Doors, path: str, body: bytes) -> str:
    answer = doors.client.post(path, body, idempotency_key=str(uuid4()))
    assert answer.status_code in (201, 202, 400), answer.content
    return (
        ""
        if answer.status_code != 400
        else " ".join(f"{error['pointer']} {error['message']}" for error in answer.json()["errors"])
    )


def _command(*words: str) -> str:
    code, _, err = call(*words)
    assert code in (0, 2), err
    return err if code else ""


def _act(doors: Doors, path: str, **fields: str) -> str:
    answer = doors.console.post(path, {"next": "/tasks", **fields}, follow=True)
    assert answer.status_code == 200
    return " ".join(
        str(message) for message in answer.context["messages"] if message.level_tag == "error"
    )


def _form(doors: Doors, text: str) -> str:
    fields = form_at(doors.console, "/tasks/new", url=URL, cron_expression="0 8 * * *")
    answer = doors.console.post("/tasks/new", {**fields, "payload": text})
    assert answer.status_code in (302, 400)
    return unescape(answer.text) if answer.status_code == 400 else ""


Door = Callable[[Doors, str], str]
_CREATING: dict[str, Door] = {
    "REST create": lambda doors, text: _rest(doors, "/v1/tasks", doors.body(text)),
    "form": _form,
    "tasks create --payload": lambda doors, text: _command(
        "tasks", "create", "--url", URL, "--cron", "0 8 * * *", "--payload", text
    ),
    "tasks create --payload @FILE": lambda doors, text: _command(
        *("tasks", "create", "--url", URL, "--cron", "0 8 * * *"),
        *("--payload", f"@{doors.file(text.encode())}"),
    ),
    "tasks create --file": lambda doors, text: _command(
        "tasks", "create", "--file", doors.file(doors.body(text))
    ),
    "tasks create --set": lambda doors, text: _command(
        "tasks", "create", "--url", URL, "--cron", "0 8 * * *", "--set", f"payload={text}"
    ),
}
_RUNNING: dict[str, Door] = {
    "REST run": lambda doors, text: _rest(
        doors, f"/v1/tasks/{doors.task.pk}/run", b'{"payload":' + text.encode() + b"}"
    ),
    "run now": lambda doors, text: _act(
        doors, f"/tasks/{doors.task.pk}/run", payload=text, payload_before="{}"
    ),
    "tasks run --payload": lambda doors, text: _command(
        "tasks", "run", str(doors.task.pk), "--payload", text
    ),
}
_RETRYING: dict[str, Door] = {
    "REST retry": lambda doors, text: _rest(
        doors,
        f"/v1/dlq/{doors.letter_id}/retry",
        b'{"payload":' + text.encode() + b"}",
    ),
    "dead letter's form": lambda doors, text: _act(
        doors, f"/dead-letters/{doors.letter_id}/retry", payload=text, payload_before="{}"
    ),
    "dlq retry --payload": lambda doors, text: _command(
        "dlq", "retry", doors.letter_id, "--payload", text, "--yes", "--detach"
    ),
}
#: A text with a byte order mark or behind an end has no place inside of a body.
_IN_A_BODY = ("REST create", "REST run", "REST retry", "tasks create --file")
_NOT_IN_A_BODY = ("byte order mark", "trailing text", "trailing comma", "cut off")


@pytest.mark.parametrize("door", [*_CREATING, *_RUNNING, *_RETRYING])
def test_a_text_that_cannot_be_carried_is_refused_with_the_same_sentence_at_each_door(doors, door):
    before = (Task.objects.count(), Execution.objects.count())
    for kind, text in REFUSED.items():
        said = {**_CREATING, **_RUNNING, **_RETRYING}[door](doors, text)

        if not (door in _IN_A_BODY and kind in _NOT_IN_A_BODY):
            with pytest.raises(InvalidInput) as judged:
                read_json(text, "#/payload")
            assert judged.value.message in said, (kind, said)
            assert "payload" in said.lower(), (kind, said)
        assert said, kind
    assert (Task.objects.count(), Execution.objects.count()) == before


@pytest.mark.parametrize("door", _CREATING)
def test_a_text_that_can_be_carried_is_stored_unchanged_by_each_door(doors, door):
    for kind, (text, value) in TAKEN.items():
        known = set(Task.objects.values_list("pk", flat=True))

        assert _CREATING[door](doors, text) == "", kind

        (made,) = Task.objects.exclude(pk__in=known)
        assert read_definition(made).payload == (read_json(text) if value is None else value), kind


@pytest.mark.parametrize("door", _RUNNING)
def test_a_text_that_can_be_carried_is_sent_unchanged_by_each_door(doors, door):
    for kind, (text, value) in TAKEN.items():
        known = set(Execution.objects.values_list("pk", flat=True))

        assert _RUNNING[door](doors, text) == "", kind

        (made,) = Execution.objects.exclude(pk__in=known)
        assert payload_of(made) == (read_json(text) if value is None else value), kind


@pytest.mark.parametrize("kind", REFUSED)
def test_the_fields_of_a_bulk_change_are_read_by_the_same_reader(doors, kind):
    text = '{"payload": ' + REFUSED[kind] + "}"
    fields: dict[str, Any] = {"kind": "tasks", "action": "set", "expected_count": "1"}

    said = _act(doors, "/bulk-jobs/create", filters='{"q": "Daily"}', set=text, **fields)

    assert "Fields to set: " in said
    assert _command(
        "tasks", "set", "--all", "--set", f"payload={REFUSED[kind]}", "--yes", "--detach"
    )


@pytest.mark.parametrize("kind", REFUSED)
def test_other_files_of_json_are_read_by_the_same_reader(doors, kind):
    raw = b'{"name": "Holidays", "dates": ' + REFUSED[kind].encode() + b"}"

    assert _command("calendars", "create", "Holidays", "--file", doors.file(raw))
