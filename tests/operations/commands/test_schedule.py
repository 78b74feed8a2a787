from __future__ import annotations

import pytest
from django.core.management import load_command_class

from tests.support.command_calls import call


@pytest.mark.parametrize("verb", ["preview", "forecast", "spread", "zones"])
def test_every_verb_has_help_with_an_example(verb, capsys):
    command = load_command_class("operations", "schedule")

    with pytest.raises(SystemExit) as left:
        command.create_parser("manage.py", "schedule").parse_args([verb, "--help"])

    assert left.value.code == 0
    assert f"examples:\n  manage.py schedule {verb}" in capsys.readouterr().out


def test_a_verb_that_does_not_exist_gets_a_suggestion():
    assert "Did you mean preview?" in call("schedule", "previw").err
