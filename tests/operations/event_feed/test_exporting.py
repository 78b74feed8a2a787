from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from events.feed import cursor
from events.feed_places import FeedPlace
from executions.loop.clocks import database_now
from shared.ids import new_id
from tests.support.command_calls import call
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db


def test_each_tenant_is_exported_and_an_expired_cursor_is_named(alpha, beta, tmp_path: Path):
    place = FeedPlace(5, new_id(), 0, database_now().replace(year=2020))
    (tmp_path / "cursors").mkdir()
    kept = {"after": cursor(place, beta.id)}
    (tmp_path / "cursors" / f"{beta.id}.json").write_bytes(orjson.dumps(kept))

    said = call("events", "export", "--to", str(tmp_path), "--json")

    assert said.code == 6
    found = {one["name"]: one for one in read_document("events-export", said.out)["tenants"]}
    assert found["Alpha"]["error"] is None
    assert "kept" in found["Beta"]["error"]


def test_a_directory_that_cannot_be_written_is_wrong_use(alpha, tmp_path: Path):
    (tmp_path / "file").write_text("")

    said = call("events", "export", "--to", str(tmp_path / "file"))

    assert said.code == 2
    assert "--to" in said.err
