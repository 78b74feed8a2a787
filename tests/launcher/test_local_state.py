"""The data directory's files: private, replaced at once, made once."""

from __future__ import annotations

import base64
import os
import stat
from pathlib import Path

import pytest

from launcher import local_state


def test_the_data_directory_is_var_beside_the_code_unless_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("DATA_DIR", raising=False)
    assert local_state.data_dir().name == "var"
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    assert local_state.data_dir() == tmp_path


def test_secrets_are_made_once_and_only_their_owner_reads_them(tmp_path: Path) -> None:
    made = local_state.ensure_secrets(tmp_path / "new")

    assert local_state.ensure_secrets(tmp_path / "new") == made
    mode = (tmp_path / "new" / local_state.SECRETS_FILE).stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


def test_an_older_installation_gets_what_it_lacks_and_keeps_the_rest(tmp_path: Path) -> None:
    made = local_state.ensure_secrets(tmp_path)
    older = {name: value for name, value in made.items() if name != "vapid_private_key"}
    local_state.write_private(tmp_path / local_state.SECRETS_FILE, older)

    again = local_state.ensure_secrets(tmp_path)

    assert {name: again[name] for name in older} == older
    assert len(again["vapid_private_key"]) == 43


def test_two_installations_share_no_secret(tmp_path: Path) -> None:
    one = local_state.ensure_secrets(tmp_path / "one")
    other = local_state.ensure_secrets(tmp_path / "other")

    assert not {value for key, value in one.items() if key != "schema"} & set(other.values())


def test_the_encryption_key_has_32_bytes(tmp_path: Path) -> None:
    word = local_state.ensure_secrets(tmp_path)["encryption_keys"]

    assert len(base64.b64decode(word.partition(":")[2])) == 32


def test_what_does_not_run_has_no_addresses(tmp_path: Path) -> None:
    assert local_state.load_runtime(tmp_path) == {}


def test_a_rewrite_leaves_no_scratch_file_behind(tmp_path: Path) -> None:
    local_state.write_runtime(tmp_path, {"pid": 1})
    local_state.write_runtime(tmp_path, {"pid": 2})

    assert local_state.load_runtime(tmp_path)["pid"] == 2
    assert [path.name for path in tmp_path.iterdir()] == [local_state.RUNTIME_FILE]


def test_a_link_in_place_of_an_unfinished_file_is_not_written_through(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("kept")
    (tmp_path / f"runtime.{os.getpid()}.new").symlink_to(victim)

    local_state.write_runtime(tmp_path, {"pid": 1})

    assert victim.read_text() == "kept"
    assert local_state.load_runtime(tmp_path)["pid"] == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="changes owners, which only root may")
def test_what_root_writes_belongs_to_whose_directory_it_is_from_the_first_moment(tmp_path):
    os.chown(tmp_path, 4242, 4343)

    local_state.write_runtime(tmp_path, {"pid": 1})

    found = (tmp_path / local_state.RUNTIME_FILE).stat()
    assert (found.st_uid, found.st_gid) == (4242, 4343)


def test_the_webs_address_is_that_of_the_database_and_of_no_other() -> None:
    runtime = {"database_url": "postgresql://owner@/db", "web_database_url": "postgresql://web@/db"}

    assert local_state.web_address_beside(runtime, "postgresql://owner@/db").endswith("web@/db")
    assert local_state.web_address_beside(runtime, "postgresql://owner@elsewhere/db") == ""
    assert local_state.web_address_beside({}, "postgresql://owner@elsewhere/db") == ""
    assert local_state.web_address_beside({"database_url": ""}, "") == ""


def test_the_loops_address_is_that_of_the_database_and_of_no_other() -> None:
    runtime = {
        "database_url": "postgresql://owner@/db",
        "loops_database_url": "postgresql://loops@/db",
    }

    assert local_state.loops_address_beside(runtime, "postgresql://owner@/db").endswith("loops@/db")
    assert local_state.loops_address_beside(runtime, "postgresql://owner@elsewhere/db") == ""
    assert local_state.loops_address_beside({}, "postgresql://owner@elsewhere/db") == ""
