from __future__ import annotations

import json
from dataclasses import replace

import pytest

from events import audit
from shared.actor import COMMAND
from tests.events.audit.tampering import (
    chain_anew,
    change,
    cut_off,
    entries_of,
    forget_chains,
    remove_chain,
)
from tests.factories import ACTOR, make_task
from tests.support.command_calls import call
from tests.support.command_documents import read_document
from tests.support.recounting import recounts

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_other_chains(db: None) -> None:
    forget_chains()


@pytest.fixture(autouse=True)
def folder(tmp_path, settings):
    settings.PUNCTUAL = replace(settings.PUNCTUAL, audit_heads_dir=str(tmp_path / "heads"))
    return tmp_path / "heads"


def test_entries_are_listed_with_what_they_changed(alpha):
    task = make_task(alpha)
    audit.record(alpha.id, ACTOR, "task.updated", "task", task.id, {"n": 1}, {"n": 2})

    said = call("audit", "list", "--json", "--action", "task.updated")
    [entry] = read_document("audit-list", said.out)["entries"]

    assert entry["changes"] == [{"field": "n", "before": 1, "after": 2}]
    assert entry["object_id"] == str(task.id)
    lines = call("audit", "list", "--object", f"task:{task.id}").out
    assert "task.updated" in lines
    assert "tenant.created" not in lines


def test_acts_of_the_installation_have_a_list_of_their_own(alpha):
    audit.record_of_installation(COMMAND, "backup.made", "backup", "b", bytes=1)

    found = json.loads(call("audit", "list", "--installation", "--json").out)

    assert [entry["action"] for entry in found["entries"]] == ["backup.made"]
    assert call("audit", "list", "--installation", "--tenant", "Alpha").code == 2


def test_the_log_of_a_removed_tenant_is_found_by_its_id(alpha):
    audit.record(alpha.id, ACTOR, "tenant.removed", "tenant", alpha.id)
    gone = str(alpha.id)
    alpha.delete()

    assert "tenant.removed" in call("audit", "list", "--tenant", gone).out
    assert call("audit", "list", "--tenant", "nobody").code == 3


@recounts("audit.entries")
def test_a_log_that_nobody_touched_verifies(alpha, beta):
    said = call("audit", "verify", "--json")

    found = read_document("audit-verify", said.out)
    assert (said.code, found["verified"]) == (0, True)
    assert {one["tenant"]: one["entries"] for one in found["chains"]} == {
        "Alpha": len(entries_of(alpha.id)),
        "Beta": len(entries_of(beta.id)),
    }
    assert "No heads" in said.err


def test_a_break_is_shown_and_fails(alpha, beta):
    audit.record(alpha.id, ACTOR, "task.updated", "task", "t")
    change(entries_of(alpha.id)[-1], actor="user:99")
    number = len(entries_of(alpha.id))

    said = call("audit", "verify")

    assert said.code == 1
    assert f"BREAK at {number}: this entry" in said.out
    assert call("audit", "verify", "--tenant", "Beta").code == 0
    [chain] = json.loads(call("audit", "verify", "--tenant", "Alpha", "--json").out)["chains"]
    assert (chain["fault"], chain["breaks_at"]) == ("altered", number)


def test_kept_heads_find_a_tail_that_was_cut_off(alpha, folder):
    for _ in range(3):
        audit.record(alpha.id, ACTOR, "task.updated", "task", "t")
    written = read_document("audit-heads", call("audit", "heads", "--json").out)
    cut_off(alpha.id, 1)

    said = call("audit", "verify", "--heads", written["file"])

    assert said.code == 1
    assert "BREAK at 2: the chain has lost its last entries" in said.out
    again = call("audit", "heads")
    assert (again.code, f"BREAK: the chain {alpha.id}" in again.out) == (1, True)


def test_a_chain_that_is_gone_is_found_by_its_head(alpha, folder):
    call("audit", "heads")
    remove_chain(alpha.id)

    said = call("audit", "verify")

    assert said.code == 1
    assert "BREAK at 1" in said.out


def test_an_altered_file_of_heads_fails(alpha, folder):
    path = json.loads(call("audit", "heads", "--json").out)["file"]
    with open(path, "a", encoding="utf-8") as file:
        file.write("{}\n")

    said = call("audit", "verify")

    assert (said.code, "is not authentic" in said.out) == (1, True)
    assert call("audit", "verify", "--heads", "/missing").code == 1


def test_an_export_verifies_without_the_database(alpha, tmp_path, django_assert_num_queries):
    for _ in range(3):
        audit.record(alpha.id, ACTOR, "task.updated", "task", "t")
    path = tmp_path / "audit.jsonl"
    path.write_text(call("audit", "export").out)
    first = json.loads(path.read_text().splitlines()[0])
    read_document("audit-export-line", json.dumps(first))

    with django_assert_num_queries(0):
        assert call("audit", "verify", "--export", str(path)).code == 0

    path.write_text(path.read_text().replace("task.updated", "task.deleted"))
    said = call("audit", "verify", "--export", str(path))
    assert (said.code, "BREAK" in said.out) == (1, True)


def test_an_export_of_plain_hashes_does_not_verify(alpha, tmp_path):
    for _ in range(3):
        audit.record(alpha.id, ACTOR, "task.updated", "task", "t")
    chain_anew(alpha.id, plain=True)
    path = tmp_path / "audit.jsonl"
    path.write_text(call("audit", "export").out)

    said = call("audit", "verify", "--export", str(path), "--json")

    [chain] = json.loads(said.out)["chains"]
    assert (said.code, chain["fault"]) == (1, "unsealed")


def test_a_place_without_heads_proves_nothing(alpha, tmp_path):
    said = call("audit", "verify", "--heads", str(tmp_path))

    assert (said.code, "there are no heads" in said.err) == (1, True)


def test_a_range_is_exported_in_each_form(alpha):
    for _ in range(4):
        audit.record(alpha.id, ACTOR, "task.updated", "task", "t")

    found = read_document("audit-export", call("audit", "export", "--last", "2", "--json").out)
    table = call("audit", "export", "--first", "2", "--last", "3", "--csv").out

    assert [one["sequence"] for one in found["entries"]] == [1, 2]
    assert len(table.splitlines()) == 3
    assert call("audit", "export", "--first", "0").code == 2


@pytest.mark.parametrize("text", ["", "[]\n", "{}\n", "no JSON\n"])
def test_a_file_that_is_no_export_is_wrong_use(text, tmp_path):
    path = tmp_path / "audit.jsonl"
    path.write_text(text)

    assert call("audit", "verify", "--export", str(path)).code == 2
    assert call("audit", "verify", "--export", str(tmp_path / "missing")).code == 1


def test_without_a_key_heads_are_refused(settings, alpha):
    settings.PUNCTUAL = replace(settings.PUNCTUAL, audit_keys={})

    said = call("audit", "heads")

    assert (said.code, "AUDIT_KEYS is empty" in said.err) == (4, True)
