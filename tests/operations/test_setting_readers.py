from __future__ import annotations

from base64 import b64encode
from dataclasses import replace

import pytest
from django.test import override_settings

from operations import setting_readers
from shared.conf import conf


def test_a_setting_is_read_when_it_is_asked_for():
    read = setting_readers.django_setting("PUBLIC_URL")

    with override_settings(PUBLIC_URL="https://one.example"):
        assert read() == "https://one.example"


def test_a_knob_is_read_as_it_is_or_in_the_words_of_its_variable(settings):
    keys = {"a1": b"x" * 32, "a2": b"y" * 32}
    lists: dict[str, tuple[str, ...]] = {"backup": ("PATH", "HOME")}
    settings.PUNCTUAL = replace(conf(), audit_keys=keys, command_variables=lists)

    assert setting_readers.knob("audit_keys")() == keys
    words = [f"{key_id}:{b64encode(key).decode()}" for key_id, key in keys.items()]
    assert setting_readers.keys("audit_keys")() == " ".join(words)
    assert setting_readers.lists("command_variables")() == ["backup=PATH,HOME"]


def test_options_and_variables_are_those_of_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RECEIVER_PORT", "9001")
    monkeypatch.setenv("ADMIN_PASSWORD", "")

    assert setting_readers.option("receiver_port")() == 9001
    assert setting_readers.variable("RECEIVER_PORT")() == "9001"
    assert setting_readers.variable("ADMIN_PASSWORD")() is None
