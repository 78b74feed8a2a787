from __future__ import annotations

import os
import stat

import pytest

from scheduler_site.privileges import (
    Account,
    PrivilegeError,
    can_enter,
    let_pass,
    private_directory,
    server_account,
    write_file,
)

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="changes owners, which only root may")
NOBODY = Account(65534, 65534)


def mode_of(path):
    return stat.S_IMODE(path.lstat().st_mode)


def test_ordinary_user_runs_the_servers_as_itself(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    assert server_account(tmp_path) is None


def test_root_runs_the_servers_as_another_user(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("PUNCTUAL_USER", raising=False)

    account = server_account(tmp_path / "nothing yet")

    assert account is not None
    assert account.uid != 0
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
        server_account(tmp_path / "nothing yet")


@root_only
def test_existing_data_keeps_its_owner(tmp_path):
    data = tmp_path / "postgres"
    data.mkdir()
    os.chown(data, 4242, 4343)

    assert server_account(data) == Account(4242, 4343)


def test_closed_directory_on_the_way_cannot_be_entered(tmp_path):
    closed = tmp_path / "closed"
    inner = closed / "inner"
    inner.mkdir(parents=True)
    for directory in (tmp_path, inner):
        directory.chmod(0o755)
    stranger = Account(54321, 54321)

    closed.chmod(0o700)
    assert not can_enter(inner, stranger)
    # Whatever stands above tmp_path is not this test's business.
    closed.chmod(0o711)
    assert can_enter(inner, stranger) == can_enter(tmp_path, stranger)
    assert can_enter(inner, None)


@root_only
def test_own_directory_lets_the_group_pass_and_nothing_more(tmp_path):
    directory = tmp_path / "data"
    directory.mkdir(mode=0o700)

    let_pass(directory, NOBODY)

    assert mode_of(directory) == 0o710
    assert directory.stat().st_gid == NOBODY.gid
    assert directory.stat().st_uid == 0


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
