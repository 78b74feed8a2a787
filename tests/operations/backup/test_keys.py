from __future__ import annotations

import base64

import pytest

from operations.backup import keys
from operations.backup.exceptions import Unfit
from shared.conf import conf

SECOND = base64.b64encode(b"2" * 32).decode()


def test_the_secrets_in_use_are_carried_whatever_their_source():
    found = keys.current()

    words = dict(word.split(":", 1) for word in found["encryption_keys"].split())
    assert {name: base64.b64decode(key) for name, key in words.items()} == conf().encryption_keys
    assert list(words) == keys.key_ids()
    assert found["secret_key"]


def test_keys_that_the_environment_has_too_are_no_obstacle(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ENCRYPTION_KEYS", keys.current()["encryption_keys"])

    keys.refuse_missing(keys.current())


@pytest.mark.parametrize("variable", ["ENCRYPTION_KEYS", "ENCRYPTION_KEYS_FILE"])
def test_keys_of_the_environment_that_lack_the_backups_are_refused(
    monkeypatch: pytest.MonkeyPatch, variable: str
):
    monkeypatch.setenv(variable, "here")

    with pytest.raises(Unfit, match="k9"):
        keys.refuse_missing({"encryption_keys": f"k9:{SECOND}"})


def test_another_key_under_the_same_name_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ENCRYPTION_KEYS", "here")

    with pytest.raises(Unfit):
        keys.refuse_missing({"encryption_keys": f"{keys.key_ids()[0]}:{SECOND}"})


def test_without_the_variable_the_backup_brings_its_keys(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("ENCRYPTION_KEYS", raising=False)
    monkeypatch.delenv("ENCRYPTION_KEYS_FILE", raising=False)

    keys.refuse_missing({"encryption_keys": f"k9:{SECOND}"})
