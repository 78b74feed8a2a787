from __future__ import annotations

from operations.command_list import commands


def test_commands_are_those_of_operators_with_their_verbs():
    found = {listed.top.name: listed for listed in commands()}

    assert {"tasks", "status", "up"} <= set(found)
    assert not {"bootstrap", "migrate", "run_web", "test", "shell"} & set(found)
    assert "tasks-list" in [door.name for door in found["tasks"].doors]
    assert [door.name for door in found["status"].doors] == ["status"]


def test_options_are_those_that_help_shows():
    [status] = [listed.top for listed in commands() if listed.top.name == "status"]
    words = [word for option in status.options for word in option.option_strings]

    assert "--watch" in words
    assert "--help" not in words
