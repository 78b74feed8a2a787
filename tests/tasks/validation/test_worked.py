from __future__ import annotations

import dataclasses

import pytest

from shared.exceptions import InvalidInput
from shared.redaction import MASK
from tasks.definition import target_defaults
from tasks.validation.bodies import parse_create
from tests.tasks.bodies import (
    COMMAND,
    HANDLER,
    LIMITS,
    NOW,
    POOL,
    changed,
    create,
    problems,
    with_target,
)

REFUSED = [
    (POOL, "handler", "", "blank"),
    (POOL, "handler", "x" * 201, "too_long"),
    (POOL, "handler", "a\nb", "invalid_characters"),
    (POOL, "max_runtime_seconds", 0, "out_of_range"),
    (POOL, "timeout_seconds", 5, "unknown_field"),
    (HANDLER, "timeout_seconds", 0, "out_of_range"),
    (HANDLER, "timeout_seconds", 86_401, "out_of_range"),
    (HANDLER, "timeout_seconds", None, "null"),
    (HANDLER, "cancel_grace_seconds", -1, "out_of_range"),
    (HANDLER, "cancel_grace_seconds", 301, "out_of_range"),
    (HANDLER, "arguments", [], "unknown_field"),
    (COMMAND, "arguments", "x", "invalid_type"),
    (COMMAND, "arguments", ["x"] * 101, "too_many"),
    (COMMAND, "environment", [], "invalid_type"),
    (COMMAND, "environment", {f"A{n}": "x" for n in range(65)}, "too_many"),
    (COMMAND, "environment/1A", "x", "name_invalid"),
    (COMMAND, "environment/A-B", "x", "name_invalid"),
    (COMMAND, "environment/PATH", "x", "variable_forbidden"),
    (COMMAND, "environment/IFS", "x", "variable_forbidden"),
    (COMMAND, "environment/ENV", "x", "variable_forbidden"),
    (COMMAND, "environment/BASH_ENV", "x", "variable_forbidden"),
    (COMMAND, "environment/LD_PRELOAD", "x", "variable_forbidden"),
    (COMMAND, "environment/PYTHONPATH", "x", "variable_forbidden"),
    *(
        (COMMAND, f"environment/{name}", "x", "variable_forbidden")
        for name in (
            *("PERL5OPT", "PERL5DB", "NODE_OPTIONS", "RUBYOPT", "JAVA_TOOL_OPTIONS"),
            *("GIT_SSH_COMMAND", "SHELLOPTS", "PS4", "DOCKER_HOST", "KUBECONFIG", "OPENSSL_CONF"),
            *("GCONV_PATH", "HOME", "https_proxy", "token", "TOKENS", "PUNCTUAL_TASK_ID"),
        )
    ),
    (COMMAND, "environment/A", 5, "invalid_type"),
    (COMMAND, "environment/A", "x" * 4097, "too_long"),
    (COMMAND, "environment/A", " " * 4097, "too_long"),
    (COMMAND, "environment/A", MASK, "secret_masked"),
    (COMMAND, "output_bytes", 1023, "out_of_range"),
    (COMMAND, "output_bytes", 1024 * 1024 + 1, "out_of_range"),
    (COMMAND, "output_bytes", 2048.0, "invalid_type"),
    (COMMAND, "memory_bytes", 1024, "out_of_range"),
    (COMMAND, "memory_bytes", 65 * 1024**3, "out_of_range"),
    (COMMAND, "success_exit_codes", [], "out_of_range"),
    (COMMAND, "success_exit_codes", [0] * 51, "out_of_range"),
    (COMMAND, "success_exit_codes", 0, "invalid_type"),
]


@pytest.mark.parametrize(("target", "field", "value", "code"), REFUSED)
def test_wrong_fields_are_named(target, field, value, code):
    body = changed(with_target(target), f"target/{field}", value)

    assert problems(create, body) == {(f"#/target/{field}", code)}


@pytest.mark.parametrize(
    ("value", "code"), [(5, "invalid_type"), (None, "invalid_type"), ("x" * 4097, "too_long")]
)
def test_a_wrong_argument_is_named_by_its_place(value, code):
    body = with_target({**COMMAND, "arguments": ["x", value]})

    assert problems(create, body) == {("#/target/arguments/1", code)}


@pytest.mark.parametrize(
    ("value", "code"),
    [("0", "invalid_type"), (True, "invalid_type"), (256, "out_of_range"), (-1, "out_of_range")],
)
def test_a_wrong_exit_code_is_named_by_its_place(value, code):
    body = with_target({**COMMAND, "success_exit_codes": [0, value]})

    assert problems(create, body) == {("#/target/success_exit_codes/1", code)}


def test_an_argument_with_nul_is_refused():
    body = with_target({**COMMAND, "arguments": ["a\0b"]})

    assert problems(create, body) == {("#/target/arguments/0", "invalid_characters")}


@pytest.mark.parametrize(
    "target",
    [
        {"kind": "pool", "pool": "batch-etl", "handler": "x"},
        {"kind": "handler", "handler": "x"},
        {"kind": "command", "command": "backup"},
    ],
)
def test_what_is_left_out_takes_its_default(target):
    assert create(with_target(target)).target == target_defaults(target["kind"]) | target


@pytest.mark.parametrize(
    ("kind", "field"), [("pool", "handler"), ("handler", "handler"), ("command", "command")]
)
def test_what_is_to_run_is_required(kind, field):
    found = problems(create, with_target({"kind": kind}))

    assert (f"#/target/{field}", "required") in found


def test_commands_are_refused_as_a_whole_where_the_deployment_allows_none():
    limits = dataclasses.replace(LIMITS, commands=frozenset())

    def call(body):
        return parse_create(body, now=NOW, limits=limits)

    found = problems(call, with_target({**COMMAND, "arguments": 5}))

    assert found == {("#/target/kind", "commands_disabled")}


def test_a_command_that_is_not_allowed_is_refused():
    found = problems(create, with_target({**COMMAND, "command": "backups"}))

    assert found == {("#/target/command", "command_unknown")}


def test_a_variable_that_the_command_does_not_take_is_refused_with_those_it_takes():
    limits = dataclasses.replace(LIMITS, variables={"backup": ("REGION", "MODE")})
    body = with_target({**COMMAND, "environment": {"REGIO": "eu"}})

    with pytest.raises(InvalidInput) as refused:
        parse_create(body, now=NOW, limits=limits)

    [error] = refused.value.errors
    assert (error.pointer, error.code) == ("#/target/environment/REGIO", "variable_forbidden")
    assert "takes REGION or MODE" in error.message
    assert "'REGION'?" in error.message


def test_a_command_without_a_list_of_variables_takes_none():
    limits = dataclasses.replace(LIMITS, variables={"other": ("TOKEN", "MODE")})

    def call(body):
        return parse_create(body, now=NOW, limits=limits)

    assert {code for _, code in problems(call, with_target(COMMAND))} == {"variable_forbidden"}
    assert call(with_target({**COMMAND, "environment": {}})).target["environment"] == {}


def test_what_is_refused_shares_nothing_with_the_defaults():
    limits = dataclasses.replace(LIMITS, commands=frozenset({"x"}))
    made = parse_create(with_target({"kind": "command", "command": "x"}), now=NOW, limits=limits)

    made.target["arguments"].append("y")

    assert target_defaults("command")["arguments"] == []
