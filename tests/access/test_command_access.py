"""Every command that is told a tenant, asked about another one's rows."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest
from django.core.management import load_command_class

from shared.commands import VerbCommand
from tenants.models import Tenant
from tests.access.world import (
    HOST,
    POOL,
    SEEN_BY_ADMINS,
    SEEN_BY_NONE,
    SEEN_BY_READERS,
    World,
    rows_of,
    undone,
)
from tests.support.api import make_tenant
from tests.support.command_calls import call

pytestmark = pytest.mark.django_db
STRANGER = "Epsilon"
_COMMANDS = (
    "apikey bulk calendars destinations dlq executions explain notify pauses pools receiver"
    " schedule tasks".split()
)
#: Words after the verb, with the world's ids; the tenant comes on top.
WORDS = {
    "apikey create": "--name x --scope read",
    "apikey list": "",
    "bulk list": "",
    "calendars list": "--json",
    "calendars show": f"{SEEN_BY_READERS}-days",
    "calendars create": "made --date 2027-01-01",
    "calendars edit": f"{SEEN_BY_READERS}-days --date 2027-01-01",
    "calendars delete": f"{SEEN_BY_READERS}-days --yes",
    "calendars import": f"{SEEN_BY_READERS}-days /dev/null",
    "destinations list": "--wide",
    "destinations show": HOST,
    "destinations set": f"{HOST} --max-in-flight 1",
    "destinations reset": f"{HOST} --yes",
    "dlq groups": "",
    "dlq list": "--state all --wide",
    "dlq retry": "{letter_id} --yes",
    "dlq resolve": "{letter_id} --yes",
    "dlq archive": "{letter_id} --yes",
    "dlq purge": "{letter_id} --yes",
    "dlq export": "--state all",
    "executions list": "--json",
    "executions show": "{ended_id} --http",
    "executions tail": "",
    "executions cancel": "{execution_id} --yes",
    "executions retry": "{ended_id}",
    "executions replay": "--since 1d --until 0s --into-pool staging --yes --detach",
    "explain": "{task_id}",
    "notify test": "email --member ada",
    "notify log": "",
    "notify preferences": "--member ada",
    "notify browsers": "",
    "pauses list": "--all",
    "pauses create": "tenant --yes",
    "pools list": "",
    "pools show": POOL,
    "pools set": f"{POOL} --max-in-flight 1",
    "pools delete": f"{POOL} --yes",
    "receiver show": "",
    "receiver requests": "",
    "receiver forget": "",
    "schedule preview": "PT1H",
    "schedule forecast": "",
    "schedule spread": "{at} --yes --detach",
    "schedule zones": "",
    "tasks list": "--json",
    "tasks show": "{task_id}",
    "tasks occurrences": "{task_id}",
    "tasks create": "--url https://example.com/ --in 1h",
    "tasks clone": "{task_id}",
    "tasks edit": "{task_id} --priority 2 --yes",
    "tasks what-if": "{task_id} --priority 2",
    "tasks set": "{task_id} --priority 2 --yes --detach",
    "tasks rollback": "{task_id} 1 --yes",
    "tasks test": "{task_id}",
    "tasks pause": "{task_id}",
    "tasks resume": "{task_id}",
    "tasks run": "{task_id}",
    "tasks backfill": "{task_id} --from 1d --yes --detach",
    "tasks cancel": "{task_id} --yes",
    "tasks delete": "{task_id} --yes",
    "tasks import": "/dev/null --format crontab --url https://example.com/",
    "tasks export": "",
}


@pytest.fixture(scope="module")
def stranger(world: World) -> Tenant:
    return make_tenant(STRANGER)


def test_every_command_that_is_told_a_tenant_is_in_the_table():
    assert set(WORDS) == set(_told_a_tenant())


@pytest.mark.parametrize("command", WORDS)
def test_no_command_for_a_tenant_shows_or_changes_anything_of_another(
    world: World, stranger: Tenant, command: str
):
    before = rows_of(world.tenant)
    with undone():
        said = _ask(world, command, STRANGER)
        changed = rows_of(world.tenant) != before

    assert not changed, said
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


def _told_a_tenant() -> Iterator[str]:
    for name in _COMMANDS:
        found = load_command_class("operations", name)
        parser = found.create_parser("manage.py", name)
        if not isinstance(found, VerbCommand):
            yield name
            continue
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for verb, inner in action.choices.items():
                    if "--tenant" in inner._option_string_actions:
                        yield f"{name} {verb}"
