from __future__ import annotations

import shutil
from collections import namedtuple
from dataclasses import replace
from urllib.parse import quote

import pytest

from launcher.run_lock import RunLock
from operations.doctor import Verdict, data_directory

_Usage = namedtuple("_Usage", "total used free")
_GIB = 2**30


@pytest.fixture
def directory(tmp_path, monkeypatch):
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    secrets = tmp_path / "secrets.json"
    secrets.write_text("{}")
    secrets.chmod(0o600)
    return tmp_path


def test_a_private_directory_with_private_secrets_is_good(directory):
    assert data_directory.permissions().verdict is Verdict.OK


def test_the_servers_account_may_pass_through(directory):
    directory.chmod(0o711)

    assert data_directory.permissions().verdict is Verdict.OK


def test_a_directory_or_a_secret_that_others_may_read_is_broken(directory):
    directory.chmod(0o755)
    (directory / "secrets.json").chmod(0o640)

    found = data_directory.permissions()

    assert found.verdict is Verdict.FAILED
    assert "is 0755" in found.evidence
    assert "secrets.json is 0640" in found.evidence


def test_a_directory_that_is_not_there_yet_is_good(tmp_path, monkeypatch):
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "none"))

    assert data_directory.permissions().verdict is Verdict.OK
    assert data_directory.disk_space().check == "disk"


@pytest.mark.parametrize(
    ("free", "verdict"),
    [(50 * _GIB, Verdict.OK), (_GIB, Verdict.WARNING), (_GIB // 4, Verdict.FAILED)],
)
def test_a_full_disk_is_foreseen(directory, monkeypatch, free, verdict):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: _Usage(100 * _GIB, 0, free))

    assert data_directory.disk_space().verdict is verdict


def test_sockets_are_looked_at_while_it_runs(directory, settings):
    settings.DATABASE_URL = f"postgresql://punctual@/punctual?host={quote(str(directory), safe='')}"
    settings.REDIS_URL = f"unix://:pw@{directory}/valkey.sock?db=0"
    assert data_directory.sockets().verdict is Verdict.OK

    with RunLock(directory):
        missing = data_directory.sockets()
        for name in (".s.PGSQL.5432", "valkey.sock"):
            (directory / name).touch(0o700)
        present = data_directory.sockets()
        (directory / "valkey.sock").chmod(0o777)
        too_open = data_directory.sockets()

    assert missing.verdict is Verdict.FAILED
    assert present.verdict is Verdict.OK
    assert "valkey.sock" in too_open.evidence


def test_external_servers_have_no_sockets_of_ours(directory, settings):
    settings.DATABASE_URL = "postgresql://db.example/punctual"
    settings.REDIS_URL = "redis://redis.example/0"

    with RunLock(directory):
        assert data_directory.sockets().verdict is Verdict.OK


def test_a_missing_encryption_key_is_broken_and_inactive_ones_are_counted(settings):
    one = data_directory.encryption_keys()
    settings.PUNCTUAL = replace(settings.PUNCTUAL, encryption_keys={"k2": b"2" * 32, "k1": b"1"})
    two = data_directory.encryption_keys()
    settings.PUNCTUAL = replace(settings.PUNCTUAL, encryption_keys={})
    none = data_directory.encryption_keys()

    assert one.verdict is Verdict.OK
    assert two.evidence == "k2 is active; 1 more can open values"
    assert none.verdict is Verdict.FAILED


def test_the_keys_of_the_audit_log_are_named_and_missed(settings):
    one = data_directory.audit_keys()
    settings.PUNCTUAL = replace(settings.PUNCTUAL, audit_keys={})
    none = data_directory.audit_keys()

    assert (one.verdict, one.evidence) == (Verdict.OK, "test is active, 1 verify")
    assert none.verdict is Verdict.WARNING
    assert "AUDIT_KEYS" in none.remedy
