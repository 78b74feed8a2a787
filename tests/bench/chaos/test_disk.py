from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from bench.chaos import disk
from bench.installation import InstallationError


def _site(failures: int) -> Any:
    def rows(statement: str) -> list[tuple[Any, ...]]:
        return [(failures,)] if "checksum_failures" in statement else [("tasks",)]

    return SimpleNamespace(rows=rows)


def test_pages_that_fail_their_checksums_are_told():
    outcome: Any = None

    assert disk._sound(_site(0), outcome) == []
    assert disk._sound(_site(2), outcome) == ["2 pages are broken"]


def test_who_may_not_mount_is_told_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)

    with pytest.raises(InstallationError, match="needs root"), disk.small_disk():
        pass
