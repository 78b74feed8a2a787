from __future__ import annotations

import os
import pwd
import stat

import pytest

from launcher import system_account
from launcher.privileges import (
    Account,
    PrivilegeError,
    account_of,
    private_directory,
    write_file,
)

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="changes owners, which only root may")
NOBODY = Account(65534, 65534)


def mode_of(path):
    return stat.S_IMODE(path.lstat().st_mode)


def test_what_an_ordinary_user_starts_stays_that_users(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    assert account_of(tmp_path) is None


@root_only
def test_what_root_starts_runs_as_an_account_of_its_own(monkeypatch, tmp_path):
    monkeypatch.delenv("PUNCTUAL_USER", raising=False)

    account = account_of(tmp_path / "nothing yet")

    entry = pwd.getpwnam("punctual")
    assert account == Account(entry.pw_uid, entry.pw_gid, (entry.pw_gid,), "punctual")
    assert entry.pw_shell.endswith(("nologin", "false"))
    assert account.spawn_options() == {
        "user": account.uid,
        "group": account.gid,
        "extra_groups": [],
    }


@pytest.mark.parametrize(
    ("name", "message"), [("no-such-user", "does not exist"), ("root", "not root")]
)
def test_root_refuses_an_account_it_cannot_use(monkeypatch, tmp_path, name, message):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PUNCTUAL_USER", name)

    with pytest.raises(PrivilegeError, match=message):
        account_of(tmp_path / "nothing yet")


def test_an_account_that_cannot_be_made_is_an_error_and_never_root(monkeypatch, tmp_path):
    def read_only(name: str) -> None:
        raise system_account.CannotMake("cannot lock /etc/passwd")

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("PUNCTUAL_USER", raising=False)
    monkeypatch.setattr(system_account, "ensure", read_only)

    with pytest.raises(PrivilegeError, match=r"cannot lock.*useradd.*PUNCTUAL_USER"):
        account_of(tmp_path / "nothing yet")


@root_only
@pytest.mark.parametrize("owner", [(4242, 4343), ("daemon", 1)])
def test_existing_data_keeps_its_owner(monkeypatch, tmp_path, owner):
    monkeypatch.delenv("PUNCTUAL_USER", raising=False)
    uid = owner[0] if isinstance(owner[0], int) else pwd.getpwnam(owner[0]).pw_uid
    os.chown(tmp_path, uid, owner[1])

    found = account_of(tmp_path)

    assert found is not None
    assert (found.uid, found.name) == (uid, str(owner[0]))


@root_only
def test_data_of_the_account_that_others_use_too_gets_its_own(monkeypatch, tmp_path):
    monkeypatch.delenv("PUNCTUAL_USER", raising=False)
    os.chown(tmp_path, pwd.getpwnam("nobody").pw_uid, -1)

    found = account_of(tmp_path)

    assert found is not None
    assert found.name == "punctual"


def test_private_directory_is_made_closed_and_closed_again(tmp_path):
    directory = tmp_path / "private"

    private_directory(directory, None)
    assert mode_of(directory) == 0o700

    directory.chmod(0o755)
    private_directory(directory, None)
    assert mode_of(directory) == 0o700


def test_private_directory_refuses_a_symbolic_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(PrivilegeError, match="does not belong"):
        private_directory(link, None)


@root_only
def test_private_directory_refuses_that_of_another_user(tmp_path):
    directory = tmp_path / "theirs"
    directory.mkdir()
    os.chown(directory, 4242, 4242)

    with pytest.raises(PrivilegeError, match="does not belong"):
        private_directory(directory, NOBODY)


@root_only
def test_private_things_belong_to_the_account(tmp_path):
    directory = private_directory(tmp_path / "private", NOBODY)
    write_file(directory / "secret", "s", NOBODY)

    assert directory.stat().st_uid == NOBODY.uid
    assert (directory / "secret").stat().st_uid == NOBODY.uid


def test_written_file_is_readable_by_its_owner_only(tmp_path):
    path = tmp_path / "secret"
    path.write_text("old")
    path.chmod(0o644)

    write_file(path, "new", None)

    assert path.read_text() == "new"
    assert mode_of(path) == 0o600


def test_written_file_never_follows_a_planted_link(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("kept")
    (tmp_path / "secret").symlink_to(victim)

    write_file(tmp_path / "secret", "new", None)

    assert victim.read_text() == "kept"
