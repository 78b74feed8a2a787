from __future__ import annotations

import base64

import pytest

from shared.encryption import DecryptionFailed, seal_json
from tests.support.entries import entry_of
from worker.opened import open_entry


def test_payload_progress_and_sealed_parts_are_opened():
    entry = entry_of(
        "command", payload={"n": 1}, sealed={"environment": {"A": "b"}}, last_progress=[3]
    )

    opened = open_entry(entry)

    assert (opened.payload, opened.last_progress) == ({"n": 1}, [3])
    assert opened.target == {"environment": {"A": "b"}}


def test_the_executions_own_payload_takes_the_place_of_the_tasks():
    entry = entry_of("handler", payload={"n": 1})
    own = seal_json({"n": 2}, f"execution:{entry['id']}".encode())
    entry["payload"] = base64.b64encode(own).decode()

    assert open_entry(entry).payload == {"n": 2}
    assert open_entry(entry).last_progress is None


def test_what_belongs_to_another_execution_does_not_open():
    entry = entry_of("handler", last_progress=1) | {"id": "another"}

    with pytest.raises(DecryptionFailed):
        open_entry(entry)


def test_sealed_arguments_of_a_command_are_opened_and_those_in_clear_are_left_to_the_target():
    assert open_entry(entry_of("command", sealed={"arguments": ["-x"]})).arguments == ["-x"]
    assert open_entry(entry_of("command", arguments=["-x"])).arguments is None
