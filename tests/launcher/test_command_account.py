from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from launcher.command_account import require_account
from launcher.privileges import Account, PrivilegeError
from shared.conf import conf


@pytest.fixture
def as_root(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Any:
    """Let commands be allowed and programs be run by root as the account of a name."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    def allow(user: str, **commands: str) -> None:
        settings.PUNCTUAL = replace(
            conf(), allowed_commands=commands or {"sh": "/bin/sh"}, command_user=user
        )

    return allow


def test_an_account_of_its_own_is_fine(as_root, tmp_path):
    as_root("65532")

    require_account(tmp_path, Account(65534, 65534))
    require_account(tmp_path / "nothing yet")


def test_nothing_is_asked_without_commands(settings, tmp_path):
    settings.PUNCTUAL = replace(conf(), allowed_commands={}, command_user="no-such-user")

    require_account(tmp_path)


@pytest.mark.parametrize(("user", "message"), [("root", "not root"), ("no-such-user", "no user")])
def test_an_account_that_cannot_be_used_is_refused(as_root, tmp_path, user, message):
    as_root(user)

    with pytest.raises(PrivilegeError, match=message):
        require_account(tmp_path)


def test_the_account_of_the_servers_is_refused(as_root, tmp_path):
    as_root("65532")

    with pytest.raises(PrivilegeError, match="embedded servers"):
        require_account(tmp_path, Account(65532, 1))


def test_the_owner_of_the_data_directory_is_refused(as_root, tmp_path, monkeypatch):
    as_root("65532")
    found = os.stat_result((0o40700, 0, 0, 1, 65532, 1, 0, 0, 0, 0))
    monkeypatch.setattr(Path, "stat", lambda *_, **__: found)

    with pytest.raises(PrivilegeError, match="account of"):
        require_account(tmp_path)
