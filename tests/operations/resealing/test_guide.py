"""The guide to a rotation: processes of two consecutive steps understand each other."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from django.conf import settings

from shared import execution_tokens
from shared.encryption import open_sealed, seal
from shared.ids import new_id
from tests.operations.resealing.stored import NEW, OLD

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
        "manage.py executions list --status QUEUED RUNNING --until",
        "manage.py keys list\n",
        'ENCRYPTION_KEYS="k2:NEW"',
    )

    places = [text.index(step) for step in steps]

    assert places == sorted(places)
