from __future__ import annotations

import json

import pytest
from django.core.management.base import CommandError, CommandParser

from operations.tasks import body as task_body
from shared.exceptions import InvalidInput, NotFound
from tests.tasks.bodies import AUTHS


def _body(*words: str) -> dict:
    parser = CommandParser()
    task_body.add_options(parser)
    return task_body.body_of(vars(parser.parse_args(words)))


@pytest.mark.parametrize(
    ("words", "target"),
    [
        (
            ("--kind", "pool", "--pool", "batch-etl", "--handler", "invoices"),
            {"kind": "pool", "pool": "batch-etl", "handler": "invoices"},
        ),
        (
            ("--kind", "command", "--command", "backup", "--argument", "a", "--argument=--b"),
            {"kind": "command", "command": "backup", "arguments": ["a", "--b"]},
        ),
        (
            ("--template", "--follow-redirects", "--callback"),
            {"template": True, "follow_redirects": True, "completion": "callback"},
        ),
        (
            ("--no-template", "--no-follow-redirects", "--no-callback"),
            {"template": False, "follow_redirects": False, "completion": "response"},
        ),
    ],
)
def test_options_say_what_is_called(words, target):
    assert _body(*words) == {"target": target}


def test_options_say_when_a_retry_is_in_vain():
    words = ("--stop-on", "404", "--stop-on", "5xx", "--stop-header", "X-Stop", "--max-age", "1d")

    assert _body(*words) == {
        "retry_policy": {
            "stop_on": ["404", "5xx"],
            "stop_header": "X-Stop",
            "max_age_seconds": 86_400.0,
        }
    }


def test_secrets_come_from_files(tmp_path):
    auth, variables = tmp_path / "auth.json", tmp_path / "variables.json"
    auth.write_text(json.dumps(AUTHS["basic"]))
    variables.write_text('{"TOKEN": "s3cret"}')

    body = _body("--auth-file", str(auth), "--environment-file", str(variables))

    assert body == {"target": {"auth": AUTHS["basic"], "environment": {"TOKEN": "s3cret"}}}


def test_an_authentication_may_come_from_a_variable(monkeypatch):
    monkeypatch.setenv("REPORTS_AUTH", json.dumps(AUTHS["bearer"]))

    assert _body("--auth-env", "REPORTS_AUTH") == {"target": {"auth": AUTHS["bearer"]}}


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("--auth-env", "NOT_THERE"), "--auth-env: "),
        (("--auth-env", "NO_JSON"), "--auth-env: "),
        (("--max-age", "long"), "--max-age: "),
    ],
)
def test_an_option_of_the_wrong_form_is_named_without_its_secret(words, option, monkeypatch):
    monkeypatch.setenv("NO_JSON", "s3cret")

    with pytest.raises(InvalidInput) as refused:
        _body(*words)

    assert refused.value.errors[0].message.startswith(option)
    assert "s3cret" not in refused.value.errors[0].message


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(NotFound, match="nowhere"):
        _body("--auth-file", "nowhere.json")


def test_an_authentication_comes_from_one_place():
    with pytest.raises(CommandError, match="not allowed with"):
        _body("--auth-file", "a", "--auth-env", "B")
