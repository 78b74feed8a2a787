from __future__ import annotations

import pytest

from launcher import kept_rights
from launcher.kept_rights import MARK, keep_nothing, keep_only_what_is_needed, wanted
from shared import rights
from shared.rights import OTHER_ACCOUNTS, Right

ASKING = {"ALLOWED_COMMANDS": "sh=/bin/sh", "PORT": "80"}
PORTS = frozenset({Right.NET_BIND_SERVICE})


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, frozenset()),
        ({"PORT": "8000", "RECEIVER_PORT": "1024", "ALLOWED_COMMANDS": " "}, frozenset()),
        ({"PORT": "443"}, PORTS),
        ({"RECEIVER_PORT": "81"}, PORTS),
        ({"PORT": "x"}, frozenset()),
        ({"ALLOWED_COMMANDS": "sh=/bin/sh"}, OTHER_ACCOUNTS),
        (ASKING, OTHER_ACCOUNTS | PORTS),
    ],
)
def test_only_settings_that_take_a_right_of_roots_keep_one(environment, expected):
    assert wanted(environment) == expected


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[frozenset[Right]]:
    """Return what this process would have kept, for one that has left root with all it may."""
    found: list[frozenset[Right]] = []
    for name, value in {**ASKING, MARK: "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(rights, "held", lambda: frozenset(Right))
    monkeypatch.setattr(rights, "keep_only", lambda given: found.append(frozenset(given)))
    return found


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("up", OTHER_ACCOUNTS | PORTS),
        ("run_worker", OTHER_ACCOUNTS),
        ("run_web", PORTS),
        ("run_receiver", PORTS),
        ("run_scheduler", frozenset()),
        ("run_recorder", frozenset()),
        ("migrate", frozenset()),
        ("bootstrap", frozenset()),
    ],
)
def test_every_process_keeps_only_what_it_has_a_use_for(kept, command, expected):
    keep_only_what_is_needed(command)

    assert kept == [expected]


def test_a_worker_that_runs_no_programs_keeps_nothing(kept):
    keep_nothing()

    assert kept == [frozenset()]


def test_what_an_operator_gave_a_process_that_never_was_root_stays(kept, monkeypatch):
    monkeypatch.delenv(MARK)

    keep_only_what_is_needed("run_web")
    kept_rights.keep_nothing()

    assert kept == []
