from __future__ import annotations

import pytest
from django.core.management import load_command_class
from django.db import OperationalError

from operations.executions import reading
from tests.support.command_calls import call


@pytest.mark.parametrize("verb", ["list", "show", "tail", "cancel", "retry"])
def test_every_verb_has_help_with_an_example(verb, capsys):
    parser = load_command_class("operations", "executions").create_parser("manage.py", "executions")

    with pytest.raises(SystemExit) as left:
        parser.parse_args([verb, "--help"])

    assert left.value.code == 0
    assert f"examples:\n  manage.py executions {verb} " in capsys.readouterr().out


def test_a_verb_that_does_not_exist_gets_a_suggestion():
    assert "Did you mean retry?" in call("executions", "rety").err


@pytest.mark.parametrize(
    ("error", "code"), [(OperationalError("away"), 5), (KeyboardInterrupt(), 130)]
)
def test_what_interrupts_it_has_its_exit_code(monkeypatch, error, code):
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(reading, "moment_option", fail)

    assert call("executions", "list").code == code
