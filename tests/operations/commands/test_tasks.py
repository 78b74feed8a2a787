from __future__ import annotations

import pytest
from django.core.management import load_command_class
from django.db import OperationalError

from operations.tasks import reading
from tests.support.command_calls import call

VERBS = (
    *("list", "show", "create", "edit", "pause", "resume", "run"),
    *("cancel", "delete", "import", "export"),
)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(verb, capsys):
    with pytest.raises(SystemExit) as left:
        load_command_class("operations", "tasks").create_parser("manage.py", "tasks").parse_args(
            [verb, "--help"]
        )

    assert left.value.code == 0
    assert f"examples:\n  manage.py tasks {verb} " in capsys.readouterr().out


def test_a_verb_that_does_not_exist_gets_a_suggestion():
    assert "Did you mean pause?" in call("tasks", "puase").err


def test_a_database_that_is_away_exits_with_5(monkeypatch):
    def away(_: object) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(reading, "tasks_of", away)

    assert call("tasks", "list").code == 5


def test_ctrl_c_exits_with_130(monkeypatch):
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(reading, "tasks_of", interrupted)

    assert call("tasks", "list").code == 130
