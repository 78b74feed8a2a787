from __future__ import annotations

import io
from pathlib import Path

import pytest

from tasks.models import Task
from tests.support.command_calls import Said, call
from tests.support.command_documents import read_document

SYSTEM = Path(__file__).resolve().parents[2] / "data" / "cron.d" / "system"
URL = "https://example.com/run"


def _import(*words: str) -> Said:
    return call("tasks", "import", *words)


def _document(*words: str) -> dict:
    return read_document("tasks-import", _import(*words, "--json").out)


def _crontab(folder: Path, text: str) -> str:
    path = folder / "crontab"
    path.write_text(text)
    return str(path)


def test_a_real_crontab_is_imported_as_paused_tasks_with_their_next_times(alpha):
    code, out, err = _import(str(SYSTEM), "--url", URL, "--timezone", "Europe/Berlin")

    # In part: what runs at boot has no time.
    assert code == 6
    assert set(Task.objects.values_list("status", flat=True)) == {"PAUSED"}
    assert Task.objects.count() == 34
    assert out.count("\n       next ") == 34
    assert "At 03:30, on Sunday, Europe/Berlin" in out
    assert "!  71  @reboot root /usr/share/atop/atop.daily" in out
    assert err.startswith("34 new, 0 unchanged, 1 refused")


def test_the_same_import_again_changes_nothing(alpha, tmp_path):
    path = _crontab(tmp_path, "0 1 * * * a\n0 2 * * * b\n")

    first = _document(path, "--url", URL)
    second = _document(path, "--url", URL)

    assert first["summary"] == {"new": 2, "unchanged": 0, "refused": 0}
    assert second["summary"] == {"new": 0, "unchanged": 2, "refused": 0}
    ids = [[line["task_id"] for line in document["lines"]] for document in (first, second)]
    assert ids[0] == ids[1]


def test_a_dry_run_shows_the_plan_and_changes_nothing(alpha, tmp_path):
    path = _crontab(tmp_path, "0 1 * * * a\n")

    document = _document(path, "--url", URL, "--dry-run")

    assert Task.objects.count() == 0
    assert document["dry_run"] is True
    line = document["lines"][0]
    assert (line["action"], line["task_id"]) == ("new", None)
    assert line["schedule_text"] == "At 01:00, every day, UTC"
    assert len(line["next"]) == 3


def test_a_file_of_which_nothing_can_be_taken_over_exits_with_1(alpha, tmp_path):
    code, out, _ = _import(_crontab(tmp_path, "@reboot a\n"), "--url", URL)

    assert code == 1
    assert "refused: @reboot" in out


def test_the_user_column_can_be_said_and_denied(alpha, tmp_path):
    path = _crontab(tmp_path, "0 1 * * * root a\n")

    with_users = _import(path, "--url", URL, "--system", "--dry-run").out
    assert "crontab: a, line 1" in with_users
    assert "0 1 * * * root a" in with_users
    assert "crontab: root, line 1" in _import(path, "--url", URL, "--dry-run").out


def test_standard_input_is_a_crontab_too(alpha, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"0 1 * * * a\n")))

    assert "stdin: a" in _import("-", "--url", URL).out


def test_a_wrong_call_changes_nothing_and_exits_with_2(alpha, tmp_path):
    path = _crontab(tmp_path, "0 1 * * * a\n")
    large = tmp_path / "large"
    large.write_bytes(b"#" * (1024 * 1024 + 1))

    assert _import(path, "--url", "ftp://example.com").code == 2
    assert _import(path, "--url", URL, "--timezone", "Mars/Olympus").code == 2
    assert _import(str(tmp_path), "--url", URL).code == 2
    assert _import(str(large), "--url", URL).code == 2
    assert _import(str(tmp_path / "nowhere"), "--url", URL).code == 3
    assert _import(path, "--url", URL, "--tenant", "Nobody").code == 3
    assert Task.objects.count() == 0


@pytest.mark.django_db
def test_the_tenant_may_be_left_out_only_where_there_is_one(alpha, beta, tmp_path):
    assert _import(_crontab(tmp_path, "0 1 * * * a\n"), "--url", URL).code == 2


@pytest.mark.django_db
def test_without_a_tenant_there_is_nothing_to_import_for(tmp_path):
    assert _import(_crontab(tmp_path, "0 1 * * * a\n"), "--url", URL).code == 3
