from __future__ import annotations

import pytest
from django.core.management import load_command_class
from django.db import OperationalError

from operations.management.commands.workflows import Command
from operations.workflows import reading
from tests.support.command_calls import call


@pytest.mark.parametrize("verb", [verb.name for verb in Command.verbs])
def test_every_verb_has_help_with_an_example(verb, capsys):
    parser = load_command_class("operations", "workflows").create_parser("manage.py", "workflows")

    with pytest.raises(SystemExit) as left:
        parser.parse_args([verb, "--help"])

    assert left.value.code == 0
    assert f"examples:\n  manage.py workflows {verb} " in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_the_help_says_which_command_is_about_the_workflow_itself(verb, capsys):
    parser = load_command_class("operations", "workflows").create_parser("manage.py", "workflows")

    with pytest.raises(SystemExit):
        parser.parse_args([verb, "--help"])

    assert f"of the workflow itself: `tasks {verb}`" in capsys.readouterr().out


def test_a_verb_that_does_not_exist_gets_a_suggestion():
    assert "Did you mean retry?" in call("workflows", "rety").err


@pytest.mark.parametrize(
    ("error", "code"), [(OperationalError("away"), 5), (KeyboardInterrupt(), 130)]
)
def test_what_interrupts_it_has_its_exit_code(monkeypatch, error, code):
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(reading, "workflows_of", fail)

    assert call("workflows", "list").code == code
