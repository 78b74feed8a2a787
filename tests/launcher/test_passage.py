from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher.passage import can_enter, can_read, can_write, open_way
from launcher.privileges import Account, PrivilegeError

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="asks what other accounts may")
STRANGER = Account(54321, 54321, (), "stranger")
OTHER = Account(54322, 54322, (), "other")


@pytest.fixture
def closed() -> Iterator[Path]:
    """Return a file below a directory of root's that is closed to all others."""
    with tempfile.TemporaryDirectory() as directory:
        inner = Path(directory) / "inner"
        inner.mkdir()
        inner.chmod(0o755)
        (inner / "file").write_text("x")
        yield inner / "file"


def test_who_may_not_pass_a_directory_reaches_nothing_below_it(closed):
    assert not can_enter(closed.parent, STRANGER)
    assert not can_read(closed, STRANGER)
    assert can_enter(closed.parent, None)

    closed.parent.parent.chmod(0o711)

    assert can_enter(closed.parent, STRANGER)
    assert can_read(closed, STRANGER)
    assert not can_write(closed.parent, STRANGER)


def test_the_groups_of_the_account_count(closed):
    os.chown(closed.parent.parent, 0, 4444)
    closed.parent.parent.chmod(0o710)

    assert can_enter(closed.parent, Account(54321, 54321, (4444,)))
    assert not can_enter(closed.parent, STRANGER)


def test_a_closed_directory_of_roots_lets_the_account_pass_and_nobody_else(closed, capsys):
    above = closed.parent.parent

    open_way(closed, STRANGER)
    open_way(closed, STRANGER)

    assert can_read(closed, STRANGER)
    assert not can_read(closed, OTHER)
    assert not can_write(above, STRANGER)
    assert stat.S_IMODE(above.stat().st_mode) & 0o707 == 0o700
    # Passed, not listed; and said once.
    assert capsys.readouterr().err.splitlines() == [
        f"The account stranger may pass through {above} from now on, not list it."
    ]


def test_an_account_that_was_let_pass_before_keeps_its_right(closed):
    open_way(closed, STRANGER)
    open_way(closed, OTHER)
    open_way(closed.parent, OTHER, os.X_OK)

    assert can_read(closed, STRANGER)
    assert can_read(closed, OTHER)


def test_a_right_that_a_changed_mode_took_away_is_given_again(closed):
    open_way(closed, STRANGER)
    closed.parent.parent.chmod(0o700)
    assert not can_read(closed, STRANGER)

    open_way(closed, STRANGER)

    assert can_read(closed, STRANGER)


def test_the_way_through_a_link_is_opened_at_both_ends(closed, tmp_path):
    with tempfile.TemporaryDirectory() as other:
        link = Path(other) / "link"
        link.symlink_to(closed.parent)

        open_way(link / "file", STRANGER)

        assert can_read(link / "file", STRANGER)


def test_a_directory_of_another_user_is_never_opened(closed):
    os.chown(closed.parent.parent, 4242, 4242)

    with pytest.raises(
        PrivilegeError, match=r"belongs to user id 4242.*PUNCTUAL_USER.*setfacl -m u:54321:x"
    ):
        open_way(closed, STRANGER)


def test_a_file_that_is_closed_itself_is_an_error_that_says_how_to_open_it(closed):
    closed.chmod(0o600)

    with pytest.raises(PrivilegeError, match="chmod"):
        open_way(closed, STRANGER)


@pytest.fixture
def without_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "setxattr", refuse)


def test_without_such_lists_the_group_of_the_account_may_pass(closed, without_lists):
    above = closed.parent.parent

    open_way(closed, STRANGER)

    assert can_read(closed, STRANGER)
    assert not can_read(closed, OTHER)
    assert (stat.S_IMODE(above.stat().st_mode), above.stat().st_gid) == (0o710, STRANGER.gid)


def test_without_such_lists_no_group_loses_a_right(closed, without_lists):
    above = closed.parent.parent
    above.chmod(0o750)

    with pytest.raises(PrivilegeError, match=r"not supported.*/opt"):
        open_way(closed, STRANGER)

    assert (stat.S_IMODE(above.stat().st_mode), above.stat().st_gid) == (0o750, 0)
