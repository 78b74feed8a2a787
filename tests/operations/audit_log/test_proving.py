from __future__ import annotations

import json
from dataclasses import replace

import pytest

from events.audit import record
from events.audit.verifying import MEANINGS, Fault
from tests.support.command_calls import call

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(tmp_path, settings):
    settings.PUNCTUAL = replace(settings.PUNCTUAL, audit_heads_dir=str(tmp_path / "heads"))


def test_every_fault_has_a_meaning_for_people():
    assert set(MEANINGS) == set(Fault)


def test_an_export_of_several_chains_is_refused(alpha, beta, tmp_path):
    texts = []
    for tenant in (alpha, beta):
        record(tenant.id, "system", "task.updated", "task", "t")
        texts.append(call("audit", "export", "--tenant", tenant.name).out)
    path = tmp_path / "both.jsonl"
    path.write_text("".join(texts))

    said = call("audit", "verify", "--export", str(path))

    assert (said.code, "several chains" in said.err) == (2, True)


def test_heads_are_compared_with_an_export(alpha, tmp_path):
    record(alpha.id, "system", "task.updated", "task", "t")
    path = tmp_path / "audit.jsonl"
    path.write_text(call("audit", "export").out)
    call("audit", "heads")

    found = json.loads(call("audit", "verify", "--export", str(path), "--json").out)

    assert (found["verified"], found["chains"][0]["heads"]) == (True, 1)


def test_a_folder_that_cannot_be_written_is_named(settings, tmp_path):
    (tmp_path / "file").write_text("")
    folder = str(tmp_path / "file" / "heads")
    settings.PUNCTUAL = replace(settings.PUNCTUAL, audit_heads_dir=folder)

    said = call("audit", "heads")

    assert (said.code, folder in said.err) == (1, True)
