from __future__ import annotations

import os
import pwd

import pytest

from shared import rights
from shared.rights import Right
from worker.programs.account import (
    DEFAULT,
    Account,
    NoAccount,
    account_of_programs,
    default_name,
)


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def test_without_a_name_programs_run_as_the_worker(root):
    assert account_of_programs("") is None


def test_root_becomes_a_user_with_all_its_groups(root):
    entry = pwd.getpwnam("nobody")

    found = account_of_programs("nobody")

    assert found == Account(
        entry.pw_uid, entry.pw_gid, tuple(os.getgrouplist("nobody", entry.pw_gid))
    )
    assert account_of_programs(str(entry.pw_uid)) == found


@pytest.mark.parametrize("number", [DEFAULT, "4294967294"])
def test_a_number_needs_no_user(root, number):
    assert account_of_programs(number) == Account(int(number), int(number))


@pytest.mark.parametrize("name", ["root", "0", "00"])
def test_programs_never_run_as_root_by_name(root, name):
    with pytest.raises(NoAccount, match="not root"):
        account_of_programs(name)


@pytest.mark.parametrize("name", ["no-such-user", "4294967295", "9" * 30, "-1", "\u0661"])
def test_an_account_that_there_is_not_is_refused(root, name):
    with pytest.raises(NoAccount, match="no user"):
        account_of_programs(name)


def test_who_is_not_root_stays_what_it_is_or_is_told(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 65532)
    monkeypatch.setattr(rights, "held", lambda: rights.OTHER_ACCOUNTS - {Right.SETUID})

    assert account_of_programs("65532") is None
    assert default_name() == ""
    with pytest.raises(NoAccount, match="Only root"):
        account_of_programs("nobody")


def test_who_has_left_root_and_kept_the_right_becomes_another(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(rights, "held", lambda: rights.OTHER_ACCOUNTS)

    assert default_name() == DEFAULT
    assert account_of_programs(DEFAULT) == Account(int(DEFAULT), int(DEFAULT))
