from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.conf import settings as present

from events import audit
from events.audit.heads import SEALED, NoKey, read_heads, write_heads
from events.audit.verifying import Fault, examine
from tests.events.audit.tampering import cut_off, entries_of, forget_chains, make_chain

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_other_chains(db: None) -> None:
    forget_chains()


NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
KEYS = present.PUNCTUAL.audit_keys


@pytest.fixture(autouse=True)
def folder(tmp_path, settings):
    settings.PUNCTUAL = replace(settings.PUNCTUAL, audit_heads_dir=str(tmp_path / "heads"))
    return tmp_path / "heads"


def lines_of(folder):
    return (folder / "heads-2026-11.jsonl").read_text().splitlines()


def test_each_chain_has_a_line_and_only_chains_that_moved_have_another(folder):
    first, second = make_chain(2), make_chain(1)

    assert write_heads(NOW).moved == 2
    assert write_heads(NOW).moved == 0
    audit.record(second, "system", "task.updated", "task", "t")
    assert write_heads(NOW).moved == 1

    found = [(line["chain"], line["sequence"]) for line in map(json.loads, lines_of(folder))]
    assert sorted(found) == sorted([(str(first), 2), (str(second), 1), (str(second), 2)])


def test_files_are_of_a_month_and_for_their_owner_alone(folder):
    chain = make_chain(1)
    write_heads(NOW)
    audit.record(chain, "system", "task.updated", "task", "t")
    written = write_heads(NOW + timedelta(days=1))

    assert written.path.name == "heads-2026-12.jsonl"
    assert stat.S_IMODE(written.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [head.sequence for head in read_heads().heads[chain]] == [1, 2]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_root_writes_belongs_to_the_owner_of_the_directory(folder, tmp_path):
    os.chown(tmp_path, 4321, 4322)
    make_chain(1)
    path = write_heads(NOW).path

    for found in (folder, path, folder / "latest.json", folder / "lock"):
        assert (found.stat().st_uid, found.stat().st_gid) == (4321, 4322)


def test_a_link_is_not_written_through(folder, tmp_path):
    folder.mkdir()
    (tmp_path / "victim").write_text("kept")
    (folder / "heads-2026-11.jsonl").symlink_to(tmp_path / "victim")
    make_chain(1)

    with pytest.raises(OSError, match="symbolic links"):
        write_heads(NOW)
    assert (tmp_path / "victim").read_text() == "kept"


def test_kept_heads_find_a_tail_that_was_cut_off():
    chain = make_chain(4)
    write_heads(NOW)

    cut_off(chain, 2)

    verdict = examine(chain, read_heads().heads[chain])
    assert (verdict.fault, verdict.breaks_at) == (Fault.CUT_OFF, 3)


def test_a_chain_that_went_back_is_reported_and_keeps_its_head(folder):
    chain, other = make_chain(4), make_chain(1)
    write_heads(NOW)

    cut_off(chain, 2)
    audit.record(other, "system", "task.updated", "task", "t")
    written = write_heads(NOW)

    assert (written.gone_back, written.moved) == ([chain], 1)
    assert write_heads(NOW).gone_back == [chain]
    assert max(head.sequence for head in read_heads().heads[chain]) == 4


def grow_beyond(chain, head):
    """Cut a chain off and let new entries follow, up to behind a head that was kept."""
    cut_off(chain, 2)
    for _ in range(head):
        audit.record(chain, "system", "task.updated", "task", "t")


def test_a_chain_that_was_cut_off_and_has_grown_beyond_its_head_is_reported():
    chain = make_chain(4)
    write_heads(NOW)
    grow_beyond(chain, 4)

    written = write_heads(NOW)

    assert (written.gone_back, written.moved) == ([chain], 0)
    assert examine(chain, read_heads().heads[chain]).fault == Fault.HEAD_DIFFERS


def test_a_later_head_does_not_hide_an_earlier_one_that_differs(folder):
    chain = make_chain(4)
    write_heads(NOW)
    grow_beyond(chain, 4)
    (folder / "latest.json").unlink()
    write_heads(NOW)

    verdict = examine(chain, read_heads().heads[chain])

    assert (verdict.fault, verdict.breaks_at) == (Fault.HEAD_DIFFERS, 4)


def test_two_heads_of_one_number_that_differ_are_found(folder):
    chain = make_chain(4)
    write_heads(NOW)
    cut_off(chain, 3)
    audit.record(chain, "system", "task.updated", "task", "t")
    (folder / "latest.json").unlink()
    write_heads(NOW)

    assert examine(chain, read_heads().heads[chain]).fault == Fault.HEAD_DIFFERS


def test_another_entry_at_the_place_of_the_head_is_reported():
    chain = make_chain(4)
    write_heads(NOW)
    cut_off(chain, 3)
    audit.record(chain, "system", "task.updated", "task", "t")

    assert write_heads(NOW).gone_back == [chain]


def test_a_line_that_was_altered_or_removed_is_found(folder):
    chains = [make_chain(2) for _ in range(3)]
    write_heads(NOW)
    path = folder / "heads-2026-11.jsonl"
    lines = lines_of(folder)

    path.write_text("\n".join([lines[0], lines[1].replace('"sequence":2', '"sequence":1')]) + "\n")
    assert read_heads().broken == ["heads-2026-11.jsonl:2"]

    path.write_text("\n".join([lines[0], lines[2]]) + "\n")
    assert read_heads().broken == ["heads-2026-11.jsonl:2"]

    path.write_text(f"{lines[0]}\nno JSON\n[]\n")
    assert read_heads().broken == ["heads-2026-11.jsonl:2", "heads-2026-11.jsonl:3"]
    assert len(read_heads().heads) == 1
    assert set(read_heads().heads) < set(chains)


def test_a_part_of_a_line_that_a_crash_left_is_replaced(folder):
    chain = make_chain(1)
    write_heads(NOW)
    with (folder / "heads-2026-11.jsonl").open("a") as file:
        file.write('{"at":"2026')
    audit.record(chain, "system", "task.updated", "task", "t")
    write_heads(NOW)

    kept = read_heads()
    assert (kept.lines, kept.broken) == (2, [])


def test_a_state_that_was_altered_is_written_anew(folder):
    make_chain(1)
    write_heads(NOW)
    path = folder / "latest.json"
    path.write_text(path.read_text().replace("[1,", "[9,"))

    assert write_heads(NOW).moved == 1


def test_chains_of_an_older_version_are_sealed_at_the_first_pass_only(settings):
    plain = replace(settings.PUNCTUAL, audit_keys={})
    keyed, settings.PUNCTUAL = settings.PUNCTUAL, plain
    chain = make_chain(2)
    settings.PUNCTUAL = keyed

    assert write_heads(NOW).sealed == 1
    assert entries_of(chain)[-1].action == SEALED
    assert examine(chain).fault is None

    settings.PUNCTUAL = plain
    later = make_chain(2)
    settings.PUNCTUAL = keyed
    assert write_heads(NOW).sealed == 0
    assert examine(later).fault == Fault.UNSEALED


def test_heads_of_one_chain_are_read_alone():
    chain, _ = make_chain(1), make_chain(1)
    write_heads(NOW)

    assert set(read_heads(chain=chain).heads) == {chain}
    assert read_heads(chain=uuid4()).heads == {}


def test_a_copy_of_a_file_or_a_folder_is_read(folder, tmp_path):
    chain = make_chain(1)
    path = write_heads(NOW).path

    assert set(read_heads(path).heads) == set(read_heads(folder).heads) == {chain}
    with pytest.raises(OSError, match="missing"):
        read_heads(tmp_path / "missing")


def test_without_a_key_no_heads_are_written(settings, folder):
    settings.PUNCTUAL = replace(settings.PUNCTUAL, audit_keys={})

    with pytest.raises(NoKey):
        write_heads(NOW)
    assert not folder.exists()
    assert read_heads().lines == 0


def test_heads_under_an_older_key_still_verify(settings):
    make_chain(1)
    write_heads(NOW)
    settings.PUNCTUAL = replace(settings.PUNCTUAL, audit_keys={"new": b"n" * 32, **KEYS})
    make_chain(1)
    write_heads(NOW)

    kept = read_heads()
    assert (kept.lines, kept.broken) == (2, [])
