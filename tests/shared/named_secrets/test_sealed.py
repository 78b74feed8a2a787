"""A sealed secret opens for its tenant and under its name only."""

from __future__ import annotations

from uuid import UUID

import pytest

from shared.encryption import DecryptionFailed, seal_json
from shared.instants import parse_instant
from shared.named_secrets.bindings import Binding
from shared.named_secrets.sealed import FORMER_KEPT, Former, NamedValue, open_secret, seal_secret
from shared.sealing_contexts import named_secret_context

TENANT = UUID(int=7)


def test_value_and_binding_come_back():
    blob = seal_secret(TENANT, "token", "s3cret", Binding(("a.example",), ("deploy",)))

    found = open_secret(blob, str(TENANT), "token")

    assert (found.value, found.binding) == ("s3cret", Binding(("a.example",), ("deploy",)))
    assert b"s3cret" not in blob


@pytest.mark.parametrize(("tenant", "name"), [(UUID(int=8), "token"), (TENANT, "other")])
def test_it_does_not_open_elsewhere(tenant, name):
    with pytest.raises(DecryptionFailed):
        open_secret(seal_secret(TENANT, "token", "s3cret", Binding()), tenant, name)


def test_an_opened_secret_does_not_print_its_value():
    blob = seal_secret(TENANT, "token", "s3cret", Binding())

    assert "s3cret" not in repr(open_secret(blob, TENANT, "token"))


MOMENT = parse_instant("2026-11-30T12:00:00Z")
NO_PLACE = Binding()


def test_a_replaced_value_comes_back_with_the_new_one():
    old = open_secret(seal_secret(TENANT, "token", "old", NO_PLACE), TENANT, "token")
    blob = seal_secret(TENANT, "token", "new", NO_PLACE, old.replaced(MOMENT))

    found = open_secret(blob, TENANT, "token")

    assert (found.value, list(found.former)) == ("new", [Former("old", MOMENT)])
    assert "old" not in repr([found, *found.former])


def test_a_replaced_value_is_forgotten_with_the_change_after_its_time():
    fresh, gone = Former("b", MOMENT), Former("a", MOMENT - FORMER_KEPT)

    replaced = NamedValue("c", NO_PLACE, (fresh, gone)).replaced(MOMENT)

    assert replaced == [Former("c", MOMENT), fresh]


def test_replaced_values_are_bounded():
    former = [Former(str(number), MOMENT) for number in range(10)]

    assert NamedValue("new", NO_PLACE, former).replaced(MOMENT) == [
        Former("new", MOMENT),
        *former[:9],
    ]


def test_what_the_version_before_has_sealed_opens():
    document = {"value": "v", "hosts": [], "commands": []}
    blob = seal_json(document, named_secret_context(TENANT, "token"))

    assert open_secret(blob, TENANT, "token").former == []
