from __future__ import annotations

from uuid import uuid4

import pytest

from shared.exceptions import InvalidInput
from tasks.export_keys import keep_keys, key_of, take_keys, tasks_by_key
from tenants.models import Tenant
from tests.factories import make_task, reload

KEY = uuid4()


def test_keys_are_taken_out_of_the_bodies():
    bodies = [{"key": str(KEY), "name": "a"}, {"name": "b"}, "no object"]

    assert take_keys(bodies) == ([{"name": "a"}, {"name": "b"}, "no object"], [KEY, None, None])
    assert "key" in bodies[0]


@pytest.mark.parametrize(
    ("bodies", "pointer", "code"),
    [
        ([{"key": "x"}], "#/tasks/0/key", "invalid_id"),
        ([{"key": 3}], "#/tasks/0/key", "invalid_id"),
        ([{"key": str(KEY)}, {"key": str(KEY)}], "#/tasks/1/key", "not_unique"),
    ],
)
def test_keys_that_make_no_sense_are_refused(bodies: list[object], pointer: str, code: str):
    with pytest.raises(InvalidInput) as raised:
        take_keys(bodies)

    [error] = raised.value.errors
    assert (error.pointer, error.code) == (pointer, code)


def test_a_task_is_found_by_its_id_or_by_the_key_of_its_export(alpha: Tenant, beta: Tenant):
    own, made, foreign = make_task(alpha), make_task(alpha), make_task(beta)
    keep_keys([made], [KEY])

    found = tasks_by_key(alpha.id, [own.id, KEY, foreign.id, made.id, None])

    # One that has a key of an export is known by that alone.
    assert found == {own.id: own, KEY: made}
    assert key_of(reload(made)) == KEY
    assert key_of(own) == own.id
    assert tasks_by_key(alpha.id, [None]) == {}
