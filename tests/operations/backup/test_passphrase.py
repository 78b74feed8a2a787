from __future__ import annotations

import getpass

import pytest

from operations.backup import passphrase
from shared.commands import WRONG_USE, Error
from tests.support.command_calls import type_in

LONG = "correct horse battery"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let a terminal answer these words, one after the other."""
    answers: list[str] = []
    monkeypatch.delenv("BACKUP_PASSPHRASE", raising=False)
    monkeypatch.setattr(getpass, "getpass", lambda prompt: answers.pop(0))
    type_in(monkeypatch, "")
    return answers


def test_the_environment_answers_without_a_terminal(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BACKUP_PASSPHRASE", LONG)

    assert (passphrase.for_backup(), passphrase.for_restore()) == (LONG, LONG)


def test_without_either_it_is_wrong_use(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("BACKUP_PASSPHRASE", raising=False)
    type_in(monkeypatch, "", terminal=False)

    with pytest.raises(Error) as refused:
        passphrase.for_restore()

    assert refused.value.returncode == WRONG_USE


def test_a_new_one_is_typed_twice(terminal: list[str]):
    terminal += [LONG, LONG]

    assert passphrase.for_backup() == LONG
    assert terminal == []


@pytest.mark.parametrize("typed", [[LONG, "another horse"], ["short"]])
def test_a_mistyped_or_short_one_is_refused(terminal: list[str], typed: list[str]):
    terminal += typed

    with pytest.raises(Error) as refused:
        passphrase.for_backup()

    assert refused.value.returncode == WRONG_USE


def test_that_of_an_old_backup_is_asked_for_once_whatever_its_length(terminal: list[str]):
    terminal += ["short"]

    assert passphrase.for_restore() == "short"
