"""References to named secrets: where they may stand, and where they may lead."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from shared.exceptions import InvalidInput
from shared.named_secrets.bindings import Binding
from tasks.validation.bodies import parse_create
from tasks.validation.workflow import parse_workflow
from tests.tasks.bodies import LIMITS, MINIMAL, NOW

KNOWN = {
    "token": Binding(("api.example.com",), ("backup",)),
    **{f"n{place}": Binding(("*",)) for place in range(11)},
}
URL = "https://api.example.com/x"
BEARER = {"type": "bearer", "token": "{{ secrets.token }}"}
limits = replace(LIMITS, secrets=lambda names: {n: KNOWN[n] for n in names if n in KNOWN})


def problems(**target: Any) -> list[tuple[str, str]]:
    body = {**MINIMAL, "target": {"url": URL, **target}}
    try:
        parse_create(body, now=NOW, limits=limits)
    except InvalidInput as refused:
        return [(one.pointer, one.code) for one in refused.errors]
    return []


def of_steps(**step: Any) -> list[tuple[str, str]]:
    whole = {"key": "a", "target": {"url": URL}, **step}
    try:
        parse_workflow({"name": "Flow", "steps": [whole]}, now=NOW, limits=limits)
    except InvalidInput as refused:
        return [(one.pointer, one.code) for one in refused.errors]
    return []


@pytest.mark.parametrize(
    "target",
    [
        {"auth": BEARER},
        {"auth": {"type": "basic", "username": "u", "password": "{{ secrets.token }}"}},
        {"headers": {"X-Key": "k={{secrets.token}}"}},
        {"headers": {"X-Key": "{{ attempt }} {{ secrets.token }}"}, "template": True},
        {"auth": BEARER, "url": "https://api.example.com/{{ attempt }}", "template": True},
    ],
)
def test_a_secret_may_stand_in_authentication_and_headers(target):
    assert problems(**target) == []


def test_a_command_may_have_it_in_its_environment():
    command = {"kind": "command", "command": "backup", "environment": {"TOKEN": BEARER["token"]}}

    parse_create({**MINIMAL, "target": command}, now=NOW, limits=limits)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ({"url": f"{URL}/{{{{ secrets.token }}}}"}, ("#/target/url", "url_invalid")),
        (
            {"auth": {"type": "basic", "username": "{{ secrets.token }}", "password": "x"}},
            ("#/target/auth/username", "secret_not_here"),
        ),
        ({"headers": {"X": "{{ secrets.gone }}"}}, ("#/target/headers/X", "secret_unknown")),
        ({"headers": {"X": "{{ secrets.A b }}"}}, ("#/target/headers/X", "secret_name_invalid")),
        (
            {"url": "https://evil.example/", "auth": BEARER},
            ("#/target/auth/token", "secret_not_allowed"),
        ),
        (
            {"auth": BEARER, "proxy": {"url": "http://p.example:3128"}, "url": f"http{URL[5:]}"},
            ("#/target/auth/token", "secret_not_allowed"),
        ),
        (
            {"headers": {f"X{n}": f"{{{{ secrets.n{n} }}}}" for n in range(11)}},
            ("#/target", "too_many"),
        ),
    ],
)
def test_another_place_name_or_destination_is_refused(target, expected):
    assert expected in problems(**target)


def test_arguments_hold_no_secret():
    command = {"kind": "command", "command": "backup", "arguments": ["{{ secrets.token }}"]}

    with pytest.raises(InvalidInput) as refused:
        parse_create({**MINIMAL, "target": command}, now=NOW, limits=limits)
    assert [(one.pointer, one.code) for one in refused.value.errors] == [
        ("#/target/arguments/0", "secret_not_here")
    ]


@pytest.mark.parametrize("part", ["auth", "headers"])
def test_a_step_may_name_secrets_and_what_undoes_it_too(part):
    target = {"url": URL, part: BEARER if part == "auth" else {"X": "{{ secrets.token }}"}}

    assert of_steps(target=target, compensate={"target": target}) == []


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (
            {"payload": {"x": "{{ secrets.token }}"}},
            ("#/steps/0/payload/x", "secret_not_here"),
        ),
        (
            {"for_each": "{{ secrets.token }}"},
            ("#/steps/0/for_each", "secret_not_here"),
        ),
        (
            {"target": {"url": f"{URL}/{{{{ secrets.token }}}}"}},
            ("#/steps/0/target/url", "secret_not_here"),
        ),
        (
            {"target": {"url": "https://evil.example/", "auth": BEARER}},
            ("#/steps/0/target/auth/token", "secret_not_allowed"),
        ),
        (
            {"compensate": {"target": {"url": "https://evil.example/", "auth": BEARER}}},
            ("#/steps/0/compensate/target/auth/token", "secret_not_allowed"),
        ),
    ],
)
def test_of_a_step_other_places_and_destinations_are_refused(step, expected):
    assert expected in of_steps(**step)
