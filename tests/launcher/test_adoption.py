from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from launcher.adoption import adopt, give_back
from launcher.privileges import Account, PrivilegeError

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="changes owners, which only root may")
OWNER = Account(4242, 4343, (), "owner")


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """Return a data directory as root and nobody had it."""
    directory = tmp_path / "data"
    for name in ("mail", "logs", "ledgers", "postgres/base", "valkey/appendonlydir"):
        (directory / name).mkdir(parents=True)
    for name in ("secrets.json", "runtime.json", "up.lock", "mail/1.eml", "postgres/base/1"):
        (directory / name).write_text("{}")
    for name in ("postgres", "postgres/base", "postgres/base/1", "valkey", "logs"):
        os.chown(directory / name, 65534, 65534)
    directory.chmod(0o710)
    return directory


def owners(directory: Path) -> set[int]:
    return {path.lstat().st_uid for path in (directory, *directory.rglob("*"))}


def test_an_old_data_directory_belongs_to_the_account_afterwards_as_a_whole(data_dir):
    adopt(data_dir, OWNER)

    assert owners(data_dir) == {4242}
    assert stat.S_IMODE(data_dir.stat().st_mode) == 0o700
    assert (data_dir / "secrets.json").stat().st_gid == 4343


def test_what_commands_of_root_write_later_is_given_back(data_dir):
    adopt(data_dir, OWNER)
    (data_dir / "mail" / "2.eml").write_text("by root")
    (data_dir / "secrets.json").unlink()
    (data_dir / "secrets.json").write_text("{}")
    (data_dir / "postgres.restored").mkdir()

    give_back(data_dir)

    assert owners(data_dir) == {4242}


def test_a_directory_of_roots_own_is_nobodys_to_be_given_back(data_dir, tmp_path):
    give_back(data_dir)
    give_back(tmp_path / "nothing")

    assert data_dir.stat().st_uid == 0


def test_what_is_not_ours_stays_whose_it_is(data_dir):
    (data_dir / "notes").mkdir()
    (data_dir / "notes" / "mine").write_text("x")

    adopt(data_dir, OWNER)

    assert owners(data_dir / "notes") == {0}


def test_a_directory_that_is_the_systems_is_refused(tmp_path):
    (tmp_path / "etc").mkdir()

    with pytest.raises(PrivilegeError, match=r"holds other things \(etc\).*DATA_DIR"):
        adopt(tmp_path, OWNER)

    assert owners(tmp_path) == {0}


def test_a_file_system_of_its_own_is_taken(tmp_path):
    (tmp_path / "lost+found").mkdir()

    adopt(tmp_path, OWNER)

    assert (tmp_path.stat().st_uid, (tmp_path / "lost+found").stat().st_uid) == (4242, 0)


@pytest.mark.parametrize("name", ["secrets.json", "mail/1.eml"])
def test_a_link_that_the_account_has_planted_gives_it_nothing(data_dir, tmp_path, name):
    victim = tmp_path / "victim"
    victim.write_text("root's")
    adopt(data_dir, OWNER)
    (data_dir / name).unlink()
    (data_dir / name).symlink_to(victim)

    adopt(data_dir, OWNER)

    assert victim.stat().st_uid == 0


def test_a_directory_behind_a_planted_link_is_not_entered(data_dir, tmp_path):
    (tmp_path / "victims").mkdir()
    (tmp_path / "victims" / "one").write_text("root's")
    adopt(data_dir, OWNER)
    for name in ("ledgers", "servers"):
        (data_dir / name).rmdir() if name == "ledgers" else None
        (data_dir / name).symlink_to(tmp_path / "victims")

    adopt(data_dir, OWNER)

    assert owners(tmp_path / "victims") == {0}


def test_a_second_name_of_a_file_elsewhere_gives_it_nothing(data_dir, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("root's")
    os.link(victim, data_dir / "mail" / "2.eml")

    adopt(data_dir, OWNER)

    assert victim.stat().st_uid == 0


def test_a_data_directory_that_is_a_link_is_refused(data_dir, tmp_path):
    (tmp_path / "link").symlink_to(data_dir)

    with pytest.raises(OSError, match="link"):
        adopt(tmp_path / "link", OWNER)


def test_servers_that_an_older_version_put_outside_change_their_owner(data_dir, tmp_path):
    outside = tmp_path / "punctual-x1"
    (outside / "postgres").mkdir(parents=True)
    os.chown(outside / "postgres", 65534, 65534)
    (data_dir / "servers").symlink_to(outside)

    adopt(data_dir, OWNER)

    assert owners(outside) == {4242}


def test_only_roots_own_link_leads_outside(data_dir, tmp_path):
    outside = tmp_path / "punctual-x1"
    (outside / "postgres").mkdir(parents=True)
    (data_dir / "servers").symlink_to(outside)
    os.chown(data_dir / "servers", 65534, 65534, follow_symlinks=False)

    adopt(data_dir, OWNER)

    assert owners(outside) == {0}
