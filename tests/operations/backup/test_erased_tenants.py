from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from launcher import local_state
from operations.backup import erased_tenants
from operations.backup.exceptions import Unfit
from shared.ids import new_id


def test_a_tenant_is_noted_once_and_others_stay(tmp_path: Path):
    first, second = new_id(), new_id()
    for one in (first, second, first):
        erased_tenants.note(tmp_path, one)

    path = tmp_path / erased_tenants.FILE
    assert erased_tenants.read(path) == sorted([first, second])
    assert path.stat().st_mode & 0o777 == 0o600


def test_two_erasures_at_once_are_both_in_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first, second = new_id(), new_id()
    erased_tenants.note(tmp_path, first)
    write = local_state.write_private
    threads: list[threading.Thread] = []

    def beside(path: Path, values: dict[str, Any]) -> None:
        if not threads:
            # It has read the list by now, unless it waits for this one.
            threads.append(threading.Thread(target=erased_tenants.note, args=(tmp_path, second)))
            threads[0].start()
            threads[0].join(0.2)
        write(path, values)

    monkeypatch.setattr(local_state, "write_private", beside)
    third = new_id()

    erased_tenants.note(tmp_path, third)

    threads[0].join(10)
    assert erased_tenants.read(tmp_path / erased_tenants.FILE) == sorted([first, second, third])


def test_no_file_is_an_empty_list(tmp_path: Path):
    assert erased_tenants.read(tmp_path / "none.json") == []


@pytest.mark.parametrize("text", ["", "[]", '{"tenants": 1}', '{"tenants": ["x"]}', "{}"])
def test_another_file_is_refused(tmp_path: Path, text: str):
    path = tmp_path / "other.json"
    path.write_text(text)

    with pytest.raises(Unfit, match="no list of erased tenants"):
        erased_tenants.read(path)
