from __future__ import annotations

import json
from dataclasses import fields, replace

import pytest

from operations import config_report
from operations.config_report import fixed_knobs, masked, reference_page, report, source_of
from operations.setting_readers import Setting
from shared.conf import Conf, conf
from tests.architecture import tree
from tests.support.tokens import issuer_of


def _setting(name: str, stored: str = "") -> Setting:
    return Setting(name, "", "A sentence.", lambda: None, stored=stored)


def test_every_setting_has_value_source_and_meaning():
    found = {item.name: item for item in report()}

    assert found["WORKER_CAPACITY"].value == 512
    assert found["WORKER_CAPACITY"].source == "default"
    assert found["SECRET_KEY"].source == "env"
    assert found["horizon_seconds"].value == 15.0
    assert all(item.help for item in found.values())


def test_secrets_are_masked_unless_revealed(settings):
    settings.DATABASE_URL = "postgresql://punctual:hunter2@/punctual?host=%2Ftmp%2Fx"
    settings.SECRET_KEY = "top-secret"

    hidden = json.dumps([item.as_json() for item in report()])
    revealed = {item.name: item.value for item in report(reveal=True)}

    assert "hunter2" not in hidden
    assert "top-secret" not in hidden
    assert revealed["DATABASE_URL"] == settings.DATABASE_URL
    assert revealed["SECRET_KEY"] == "top-secret"
    assert revealed["ENCRYPTION_KEYS"].startswith("test:")


def test_no_knob_that_holds_a_secret_is_reported_by_its_own_name():
    secret = {knob.name for knob in fields(Conf) if not knob.repr}

    assert {"metrics_token", "oidc_providers"} < secret
    assert not secret & set(fixed_knobs())


@pytest.mark.parametrize(
    ("secret", "shown"),
    [
        ("unix://:pw@/tmp/valkey.sock?db=0", "unix://:[redacted]@/tmp/valkey.sock?db=0"),
        ("redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/0"),
        ("k1:AAAA k2:BBBB", "k1:[redacted] k2:[redacted]"),
        ("password", "[redacted]"),
        ("k1:AAAA password", "k1:[redacted] [redacted]"),
        ('[{"issuer": "https://a.example/", "secret": "x:y z"}]', "[redacted]"),
        ("", ""),
        (None, None),
    ],
)
def test_a_mask_leaves_what_is_not_secret(secret, shown):
    assert masked(secret) == shown


def test_issuers_are_masked_whole_and_in_no_other_line(settings, monkeypatch):
    secret = "issuer-secret" + "x" * 60
    text = json.dumps([{"issuer": "https://a.example", "secret": secret}])
    monkeypatch.setenv("JWT_ISSUERS", text)
    settings.PUNCTUAL = replace(conf(), jwt_issuers=(issuer_of(tenants={}, secret=secret),))

    hidden = json.dumps([item.as_json() for item in report()], default=str)

    assert "issuer-secret" not in hidden
    assert {item.name: item.value for item in report(reveal=True)}["JWT_ISSUERS"] == text


def test_the_source_is_where_the_settings_looked_first(monkeypatch, tmp_path):
    (tmp_path / "runtime.json").write_text('{"redis_url": "unix:///x"}')
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    monkeypatch.delenv("REDIS_URL", raising=False)
    setting = _setting("REDIS_URL", "redis_url")

    stored = source_of(setting)
    monkeypatch.setenv("REDIS_URL_FILE", "/run/secrets/redis")
    by_file = source_of(setting)

    assert (stored, by_file) == ("data directory", "env")
    assert source_of(_setting("NOT_SET")) == "default"


def test_every_knob_is_reported_once():
    names = [item.name for item in report()]
    knobs = set(Conf.__dataclass_fields__)

    assert len(names) == len(set(names))
    assert set(fixed_knobs()) | set(config_report._SET_BY_VARIABLE) == knobs
    assert fixed_knobs()["horizon_seconds"].endswith("in the ledger.")


def test_the_reference_page_is_current():
    page = tree.REPOSITORY / "docs" / "reference" / "settings.md"

    assert page.read_text(encoding="utf-8") == reference_page(), (
        "run: python manage.py config docs > docs/reference/settings.md"
    )
