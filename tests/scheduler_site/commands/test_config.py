from __future__ import annotations

import io
import json

from django.core.management import call_command

from scheduler_site.config_report import reference_page
from tests.support.command_documents import read_document


def _run(*words: str) -> str:
    out = io.StringIO()
    call_command("config", *words, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_show_prints_one_versioned_document():
    document = read_document("config-show", _run("show", "--json"))

    assert document["schema"] == 1
    assert {"name", "value", "source", "help"} == set(document["settings"][0])


def test_secrets_are_only_printed_when_asked_for(settings):
    settings.REDIS_URL = "unix://:hunter2@/tmp/valkey.sock?db=0"

    assert "hunter2" not in _run("show")
    assert "hunter2" not in _run("show", "--json")
    revealed = json.loads(_run("show", "--json", "--reveal"))["settings"]
    assert {item["name"]: item["value"] for item in revealed}["REDIS_URL"] == settings.REDIS_URL


def test_show_spells_values_for_people(settings):
    settings.ALLOWED_HOSTS = ["a.example", "b.example"]

    text = _run("show")

    assert "a.example b.example  (default)" in text
    assert "DEBUG" in text
    assert "false  (default)" in text


def test_docs_prints_the_reference_page():
    assert _run("docs") == reference_page()
