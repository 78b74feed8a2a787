from __future__ import annotations

import os
import pwd

import pytest

from shared import actor

ME = pwd.getpwuid(os.getuid()).pw_name


@pytest.fixture
def login(tmp_path, monkeypatch):
    """Return what lets the kernel name the account that signed in."""
    path = tmp_path / "loginuid"
    monkeypatch.setattr(actor, "_LOGIN_UID", path)
    monkeypatch.delenv("SUDO_USER", raising=False)
    return path


def test_a_command_has_the_account_that_signed_in_also_below_sudo(login, monkeypatch):
    login.write_text(str(os.getuid()))
    monkeypatch.setenv("SUDO_USER", "somebody")

    assert actor.name_of_command() == f"command:{ME}"


@pytest.mark.parametrize("name", ["api_key:abc", "user:1", "system", "python", "commands"])
def test_only_a_command_is_made_by_a_person_with_a_shell(name):
    assert actor.COMMAND.is_command
    assert not actor.Actor(name).is_command


def test_an_account_without_a_name_is_a_number(login):
    login.write_text("4000000001")

    assert actor.name_of_command() == "command:4000000001"


@pytest.mark.parametrize("content", [None, "4294967295", "", "x"])
def test_without_a_login_it_is_the_account_of_the_process(login, content):
    if content is not None:
        login.write_text(content)

    assert actor.name_of_command() == f"command:{ME}"


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("alice", f"command:{ME} for alice"),
        ("alice\nroot", f"command:{ME}"),
        ("x" * 65, f"command:{ME}"),
        (ME, f"command:{ME}"),
    ],
)
def test_sudos_user_is_named_beside_the_account_and_never_in_its_place(
    login, monkeypatch, given, name
):
    monkeypatch.setenv("SUDO_USER", given)

    assert actor.name_of_command() == name
