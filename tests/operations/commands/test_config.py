from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import pytest
from django.core.management import call_command

from launcher import local_state
from operations.config_report import reference_page
from tests.support.command_documents import read_document
from tests.support.installation import FOREIGN, ROOT


def _run(*words: str) -> str:
    out = io.StringIO()
    call_command("config", *words, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def _alone(data_dir, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a person does: in a process of its own, with the product's settings."""
    kept = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    return subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), *words],
        env={**kept, "DATA_DIR": str(data_dir), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_command_allows_the_networks_of_its_environment_besides_the_receiver_that_runs(tmp_path):
    local_state.ensure_secrets(tmp_path)
    local_state.write_runtime(tmp_path, {"receiver_network": "127.0.0.1/32:8001"})

    shown = _alone(tmp_path, "config", "show", "--json", WEBHOOK_ALLOWED_NETWORKS="10.0.0.0/8")

    found = {item["name"]: item["value"] for item in json.loads(shown.stdout)["settings"]}
    assert found["WEBHOOK_ALLOWED_NETWORKS"] == ["10.0.0.0/8", "127.0.0.1/32:8001"]


@pytest.mark.parametrize("command", [("config", "show"), ("status",), ("tasks", "list")])
def test_a_command_without_an_installation_says_where_it_looked(tmp_path, command):
    nowhere = tmp_path / "nowhere"

    refused = _alone(nowhere, *command)

    assert refused.returncode > 0
    assert str(nowhere) in refused.stderr
    assert "DATA_DIR=" in refused.stderr
    assert not nowhere.exists()


def test_a_command_without_a_database_says_which_data_directory_names_none(tmp_path):
    local_state.ensure_secrets(tmp_path)

    refused = _alone(tmp_path, "status")

    assert refused.returncode == 5
    assert str(tmp_path) in refused.stderr


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
