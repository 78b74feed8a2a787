"""The fields of each kind of target; what another kind would take is left out."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.task_form.target import EMPTY, FIELD_OF, kind_of, read_target, show_target
from dashboard.task_form.values import Form
from shared.redaction import MASK
from tasks.definition import TARGET_DEFAULTS_BY_KIND
from tasks.masking import mask_target
from tests.tasks.bodies import COMMAND, HANDLER, POOL


def read(fields: dict[str, str], base: dict[str, Any] | None = None) -> tuple[dict[str, Any], Form]:
    shown = show_target(base) if base else {}
    form = Form({**EMPTY, **shown, **fields}, shown, {}, [])
    return read_target(form, base or {}), form


@pytest.mark.parametrize("kind", ["pool", "handler", "command"])
def test_every_field_of_a_kind_has_its_place_in_the_form(kind):
    assert {*FIELD_OF[kind], "kind"} == {*TARGET_DEFAULTS_BY_KIND[kind]}


@pytest.mark.parametrize("target", [POOL, HANDLER, COMMAND], ids=lambda target: target["kind"])
def test_what_is_shown_is_read_again(target):
    found, form = read({}, target)

    assert found == target
    assert form.errors == []


@pytest.mark.parametrize("target", [POOL, HANDLER, COMMAND], ids=lambda target: target["kind"])
def test_another_kind_keeps_nothing_of_the_old_target(target):
    found, _ = read({"kind": "webhook", "url": "https://api.example.com/"}, target)

    assert found.keys() <= TARGET_DEFAULTS_BY_KIND["webhook"].keys()
    back, _ = read({"kind": target["kind"]}, found)
    assert back.keys() <= TARGET_DEFAULTS_BY_KIND[target["kind"]].keys()


def test_an_unknown_kind_is_said_at_its_field():
    found, form = read({"kind": "container"})

    assert found == {}
    assert [error.pointer for error in form.errors] == ["#/target/kind"]
    assert kind_of({"kind": "container"}) == "webhook"
    assert (kind_of({"kind": "pool"}), kind_of({})) == ("pool", "webhook")


def test_a_variable_that_is_still_a_mask_stays_one_for_validation_to_replace():
    base = mask_target(COMMAND)

    shown = show_target(base)
    edited, form = read({"environment": f"TOKEN={MASK}\r\nMODE=fast"}, base)

    assert shown["environment"] == f"TOKEN={MASK}\nMODE={MASK}"
    assert edited["environment"] == {"TOKEN": MASK, "MODE": "fast"}
    assert form.errors == []


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("--full\r\n--to\r\n/backup", ["--full", "--to", "/backup"]),
        ("", []),
        ('["", "a\\nb"]', ["", "a\nb"]),
        ('["a", 1]', ['["a", 1]']),
        ("[x]", ["[x]"]),
        ("a  b", ["a  b"]),
    ],
)
def test_arguments_are_lines_or_a_list_in_json(text, arguments):
    found, _ = read({"kind": "command", "arguments": text})

    assert found["arguments"] == arguments


@pytest.mark.parametrize(
    "arguments", [[], ["a"], ["", "b"], ["a\nb"], ['["a"]'], [" a "], ["[", "x"]]
)
def test_arguments_survive_being_shown_without_a_base(arguments):
    shown = show_target({**COMMAND, "arguments": arguments, "environment": {}})

    found, _ = read(shown)

    assert found["arguments"] == arguments


@pytest.mark.parametrize("codes", ["x", "-1", "0 x", "1.5", "\u0661", "9" * 10])
def test_exit_codes_are_whole_numbers(codes):
    _, form = read({"kind": "command", "success_exit_codes": codes})

    assert [error.pointer for error in form.errors] == ["#/target/success_exit_codes"]


def test_a_limit_that_is_no_number_is_said_at_its_pointer():
    _, form = read({"kind": "handler", "run_timeout_seconds": "long"})

    assert [error.pointer for error in form.errors] == ["#/target/timeout_seconds"]
