from __future__ import annotations

import pytest

from shared.exceptions import InvalidInput
from tasks.validation.pools import is_pool_name
from tests.tasks.bodies import COMMAND, HANDLER, POOL, changed, create, problems, with_target

NAMES = ["a", "a1", "batch-etl", "a_b-c", "0" * 50]
NO_NAMES = ["A", "-a", "a-", "_a", "a.b", "a b", "ä", "a" * 51, "pull.x", "a\n"]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_pools(name):
    assert is_pool_name(name)


@pytest.mark.parametrize("name", [*NO_NAMES, ""])
def test_names_that_no_pool_has(name):
    assert not is_pool_name(name)


@pytest.mark.parametrize("target", [POOL, HANDLER, COMMAND])
@pytest.mark.parametrize("name", NO_NAMES)
def test_a_name_that_no_pool_has_is_refused(target, name):
    [(pointer, code)] = problems(create, with_target({**target, "pool": name}))

    assert pointer == "#/target/pool"
    assert code in ("name_invalid", "too_long", "invalid_characters")


def test_an_unknown_pool_says_how_pools_come_to_be():
    with pytest.raises(InvalidInput) as refused:
        create(with_target({**POOL, "pool": "batch-elt"}))

    [error] = refused.value.errors
    assert (error.pointer, error.code) == ("#/target/pool", "pool_unknown")
    assert "PATCH /v1/pools/batch-elt" in error.message
    assert "'batch-etl'" in error.message


def test_a_pool_to_lease_from_is_required():
    assert problems(create, with_target({"kind": "pool", "handler": "x"})) == {
        ("#/target/pool", "required")
    }


@pytest.mark.parametrize("target", [HANDLER, COMMAND])
@pytest.mark.parametrize("name", ["default", "system", "workflow"])
def test_the_pools_of_other_work_are_refused(target, name):
    found = problems(create, with_target({**target, "pool": name}))

    assert found == {("#/target/pool", "pool_reserved")}


@pytest.mark.parametrize("name", ["1x", "a b", "a/b", "-x", "ä", "../x"])
def test_a_handler_and_a_command_have_names(name):
    handler = changed(with_target(HANDLER), "target/handler", name)
    command = changed(with_target(COMMAND), "target/command", name)

    assert problems(create, handler) == {("#/target/handler", "name_invalid")}
    assert problems(create, command) == {("#/target/command", "name_invalid")}


def test_the_handler_of_pulling_workers_is_their_own_word():
    target = {**POOL, "handler": "Rechnungen für Mai / 2026"}

    assert create(with_target(target)).target == target
