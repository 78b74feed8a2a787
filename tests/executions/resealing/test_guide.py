"""The guide to a rotation: processes of two consecutive steps understand each other."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import orjson
import pytest
from django.conf import settings

from executions.loop.clocks import database_now
from executions.models import Execution
from shared import execution_tokens
from shared.encryption import open_sealed, seal
from shared.ids import execution_id, new_id
from shared.instants import format_instant
from tenants.models import Tenant
from tests.executions.resealing.stored import NEW, OLD, working
from tests.support.command_calls import call

pytestmark = pytest.mark.django_db

_GUIDE = Path(settings.BASE_DIR) / "docs/howto/rotate-the-encryption-key.md"
_KEYS = {"OLD": OLD, "NEW": NEW}


def keys_of_each_step() -> list[dict[str, bytes]]:
    """Return the keys before the rotation and in each step that changes them."""
    found = re.findall(r'ENCRYPTION_KEYS="(.*)"', _GUIDE.read_text(encoding="utf-8"))
    words = [dict(word.split(":") for word in line.split()) for line in ["k1:OLD", *found]]
    return [{name: _KEYS[word] for name, word in step.items()} for step in words]


def test_each_step_opens_what_processes_of_its_neighbours_seal(use_keys: Callable[..., None]):
    steps = keys_of_each_step()
    execution = str(new_id())

    assert (list(steps[0]), list(steps[-1])) == (["k1"], ["k2"])
    for before, after in pairwise(steps):
        for sealing, opening in ((before, after), (after, before)):
            use_keys(**sealing)
            sealed, token = seal(b"value", b"context"), execution_tokens.make(execution, 7)
            use_keys(**opening)
            assert open_sealed(sealed, b"context") == b"value"
            assert execution_tokens.verify(token, execution) == 7


def test_values_are_counted_after_messages_in_flight_and_before_the_old_key_is_removed():
    text = _GUIDE.read_text(encoding="utf-8")
    steps = (
        'ENCRYPTION_KEYS="k2:NEW k1:OLD"',
        "manage.py keys reseal\n",
        "manage.py executions list --status QUEUED RUNNING --since",
        "manage.py keys list\n",
        'ENCRYPTION_KEYS="k2:NEW"',
    )

    places = [text.index(step) for step in steps]

    assert places == sorted(places)


def test_work_that_was_handed_out_days_ago_is_waited_for(tenant: Tenant):
    old, new = working(tenant), working(tenant)
    now = database_now()
    days_ago = execution_id(new_id(), now - timedelta(days=3))
    Execution.objects.filter(pk=old.id).update(id=days_ago)
    found = re.search(r"manage\.py (executions list .*)\n", _GUIDE.read_text(encoding="utf-8"))
    assert found
    words = found[1].replace("TIME", format_instant(now + timedelta(minutes=5))).split()

    listed = orjson.loads(call(*words, "--json").out)["executions"]

    assert {one["id"] for one in listed} == {str(days_ago), str(new.id)}
