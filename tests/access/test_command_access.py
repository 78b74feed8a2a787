"""Every command that is told a tenant, asked about another one's rows."""

from __future__ import annotations

import pytest

from operations.command_list import commands
from tenants.models import Tenant
from tests.access.command_words import BY_ID, OF_INSTALLATION, STRANGER, WITHOUT_ROWS, WORDS
from tests.access.stored_rows import StoredRows
from tests.access.world import (
    SEEN_BY_ADMINS,
    SEEN_BY_NONE,
    SEEN_BY_READERS,
    World,
    undone,
)
from tests.support.api import make_tenant
from tests.support.command_calls import call

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def stranger(world: World) -> Tenant:
    return make_tenant(STRANGER)


def test_every_command_is_in_a_table_and_those_that_are_told_a_tenant_in_theirs():
    doors = {" ".join(door.words): door for listed in commands() for door in listed.doors}
    told = {
        name
        for name, door in doors.items()
        if any("--tenant" in option.option_strings for option in door.options)
    }

    assert set(WORDS) == told
    assert {*BY_ID, *OF_INSTALLATION} == set(doors) - told
    assert not {*BY_ID} & {*OF_INSTALLATION}


@pytest.mark.parametrize("command", WORDS)
def test_no_command_for_a_tenant_shows_or_changes_anything_of_another(
    world: World, stored: StoredRows, stranger: Tenant, command: str
):
    with undone():
        said = _ask(world, command, STRANGER)
        changed = stored.changed()

    assert changed == [], said
    for canary in (SEEN_BY_READERS, SEEN_BY_ADMINS, SEEN_BY_NONE):
        # An error may repeat what was typed.
        typed = canary in WORDS[command]
        assert canary not in said.out, said
        assert typed or canary not in said.err, said


@pytest.mark.parametrize("command", [one for one in WORDS if not one.startswith("apikey create")])
def test_no_command_shows_a_secret_to_those_who_may_see_all_else(world: World, command: str):
    with undone():
        said = _ask(world, command, world.tenant.name)

    assert SEEN_BY_NONE not in said.out + said.err


@pytest.mark.parametrize("command", [one for one in WORDS if one not in WITHOUT_ROWS])
def test_a_command_does_for_its_own_tenant_what_it_does_not_for_another(world: World, command: str):
    with undone():
        said = _ask(world, command, world.tenant.name)

    assert said.code == 0, said


@pytest.mark.parametrize("command", BY_ID)
def test_a_command_that_names_an_object_does_so_by_its_whole_right_and_shows_no_secret(
    world: World, command: str
):
    with undone():
        said = call(*command.split(), *BY_ID[command].format(**world.ids).split())

    assert said.code == 0, said
    assert SEEN_BY_NONE not in said.out + said.err


@pytest.mark.parametrize("command", BY_ID)
def test_a_command_that_names_no_object_changes_nothing(
    world: World, stored: StoredRows, command: str
):
    unknown = "01a1fa7a-b5a5-75e2-b563-27366f1a90a5"
    with undone():
        words = BY_ID[command].format(**dict.fromkeys(world.ids, unknown)).split()
        said = call(*command.split(), *words)
        changed = stored.changed()

    assert (said.code, changed) == (3, []), said


def test_the_tenants_own_commands_show_what_those_of_strangers_do_not(world: World):
    shown = set()
    for command in WORDS:
        with undone():
            if SEEN_BY_READERS in _ask(world, command, world.tenant.name).out:
                shown.add(command)

    assert shown >= {
        "calendars show",
        "dlq export",
        "executions list",
        "tasks show",
        "tasks export",
    }


def _ask(world: World, command: str, tenant: str):
    words = WORDS[command].format(**world.ids).split()
    name, *verb = command.split()
    return call(name, *verb, "--tenant", tenant, *words)
