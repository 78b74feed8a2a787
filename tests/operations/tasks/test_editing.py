from __future__ import annotations

import json

import pytest

from executions.changes.changing import delete_task
from tasks.models import Task
from tasks.revisions import read_definition
from tests.factories import ACTOR, TARGET, daily, make_task, once, reload
from tests.support.command_calls import call
from tests.support.command_documents import read_document

URL = "https://example.com/run"
NAMES = ("Alpha", "Beta")


def _file(folder, content) -> str:
    path = folder / "tasks.json"
    path.write_text(json.dumps(content))
    return str(path)


def test_a_task_is_created_from_options_alone(alpha):
    said = call(
        *("tasks", "create", "--url", URL, "--cron", "0 8 * * *", "--tz", "Europe/Berlin"),
        *("--name", "Invoices", "--payload", '{"n": 1}', "--label", "team=billing"),
    )

    task = Task.objects.get()
    assert said.code == 0
    assert f"created {task.id}  Invoices" in said.out
    assert said.out.count("\n  next ") == 3
    assert f"manage.py tasks run {str(task.id)[-12:]} --wait" in said.err
    assert (task.tenant_id, task.labels) == (alpha.id, {"team": "billing"})


def test_the_document_shows_what_was_created(alpha):
    said = call("tasks", "create", "--url", URL, "--in", "10m", "--json")

    document = read_document("tasks-create", said.out)
    assert document["tasks"][0]["type"] == "ONE_TIME"
    assert document["tasks"][0]["id"] == str(Task.objects.get().id)


def test_a_dry_run_judges_and_creates_nothing(alpha):
    said = call("tasks", "create", "--url", URL, "--every", "15m", "--dry-run", "--json")

    document = read_document("tasks-create", said.out)
    assert (document["dry_run"], document["tasks"][0]["id"]) == (True, None)
    assert document["tasks"][0]["schedule_text"].startswith("Every 15 minutes")
    assert Task.objects.count() == 0
    assert call("tasks", "create", "--url", URL, "--cron", "61 * * * *", "--dry-run").code == 2


def test_a_file_holds_one_task_a_list_or_an_export_in_either_form(alpha, tmp_path):
    short = {"cron_expression": "0 8 * * *", "payload": {"webhook_url": URL, "body": 1}}

    for content in (daily(), [daily(), short], {"schema": 1, "tasks": [short]}):
        assert call("tasks", "create", "--file", _file(tmp_path, content)).code == 0

    assert Task.objects.count() == 4


def test_many_are_created_all_or_none(alpha, tmp_path):
    said = call("tasks", "create", "--file", _file(tmp_path, [daily(), daily(priority=99)]))

    assert said.code == 2
    assert "tasks.1.priority: " in said.err
    assert Task.objects.count() == 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--url", URL), 2, "schedule: "),
        (("--url", "ftp://example.com", "--in", "1m"), 2, "--url: "),
        (("--url", URL, "--cron", "61 * * * *"), 2, "--cron: "),
        (("--url", URL, "--in", "1m", "--tenant", "Nobody"), 3, "Nobody"),
        (("--file", "nowhere.json"), 3, "nowhere.json"),
        (("--file", "nowhere.json", "--url", URL), 2, "--file: "),
    ],
)
def test_what_cannot_be_created_says_which_option_is_wrong(alpha, words, code, message):
    said = call("tasks", "create", *words)

    assert said.code == code
    assert message in said.err
    assert Task.objects.count() == 0


def test_owner_and_reference_have_options_of_their_own(alpha):
    said = call(
        *("tasks", "create", "--url", URL, "--in", "1h", "--owner", "ops@example.com"),
        *("--payload-ref", "s3://bucket/key", "--json"),
    )
    wrong = call("tasks", "create", "--url", URL, "--in", "1h", "--owner", "nobody")

    [task] = read_document("tasks-create", said.out)["tasks"]
    assert (task["owner"], task["payload_ref"]) == ("ops@example.com", "s3://bucket/key")
    assert (wrong.code, "--owner: Give an e-mail address" in wrong.err) == (2, True)


def test_several_tenants_want_one_named(alpha, beta):
    assert call("tasks", "create", "--url", URL, "--in", "1m").code == 2
    assert call("tasks", "create", "--url", URL, "--in", "1m", "--tenant", "Beta").code == 0
    assert Task.objects.get().tenant_id == beta.id


def test_an_edit_changes_what_is_named_and_shows_it(alpha):
    task = make_task(alpha)

    said = call("tasks", "edit", str(task.id)[-12:], "--cron", "30 9 * * *", "--json")

    document = read_document("tasks-edit", said.out)
    assert document["changes"] == [
        {"path": "schedule.cron_expression", "before": "0 8 * * *", "after": "30 9 * * *"}
    ]
    assert (document["task"]["version"], reload(task).version) == (2, 2)


def test_a_dry_run_of_an_edit_changes_nothing(alpha):
    task = make_task(alpha)

    said = call(
        *("tasks", "edit", str(task.id), "--dry-run", "--set", "target.headers.Api-Key=hidden"),
        *("--set", "schedule.jitter_seconds=30"),
    )

    assert said.out.splitlines() == [
        "schedule.jitter_seconds: 0 → 30",
        "target.headers.Api-Key: None → [redacted]",
    ]
    assert "nothing was changed" in said.err
    assert reload(task).version == 1


def test_a_secret_that_changes_is_shown_to_change_and_not_what_it_is(alpha, tmp_path):
    task = make_task(alpha)
    first = _file(tmp_path, {"type": "bearer", "token": "s3cret"})
    made = call("tasks", "edit", str(task.id), "--auth-file", first)
    second = _file(tmp_path, {"token": "an0ther"})

    said = call("tasks", "edit", str(task.id), "--auth-file", second)

    assert "target.auth.token: [redacted] → [redacted]" in said.out
    assert not any(secret in made.out + said.out for secret in ("s3cret", "an0ther"))
    assert read_definition(reload(task)).target["auth"] == {"type": "bearer", "token": "an0ther"}


def test_a_kept_secret_does_not_follow_another_url_and_the_option_is_named(alpha, tmp_path):
    auth = {"type": "bearer", "token": "s3cret"}
    task = make_task(alpha, daily(target={**TARGET, "auth": auth}))
    words = ("tasks", "edit", str(task.id), "--url", "https://elsewhere.example.com/")

    said, tried = call(*words), call(*words, "--dry-run")

    assert (said.code, tried.code, reload(task).version) == (2, 2, 1)
    assert "--auth-file: Write the value of token anew" in said.err
    anew = _file(tmp_path, {"token": "an0ther"})
    assert call(*words, "--auth-file", anew).code == 0


def test_an_edit_of_what_is_so_already_changes_nothing(alpha):
    task = make_task(alpha)

    assert call("tasks", "edit", str(task.id), "--priority", "5").out == "no change\n"
    assert reload(task).version == 1


def test_an_edit_comes_from_a_file_too(alpha, tmp_path):
    task = make_task(alpha)
    path = _file(tmp_path, {"name": "Renamed", "labels": {"team": None}})

    assert call("tasks", "edit", str(task.id), "--file", path).code == 0
    assert (reload(task).name, reload(task).labels) == ("Renamed", {})


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), 2),
        (("--priority", "99"), 2),
        (("--name", "x", "--version", "7"), 4),
        (("--name", "x", "--version", "7", "--dry-run"), 4),
        (("--name", "x", "--tenant", "Beta"), 3),
    ],
)
def test_an_edit_that_is_refused_has_its_exit_code(alpha, beta, words, code):
    task = make_task(alpha)

    assert call("tasks", "edit", str(task.id), *words).code == code
    assert reload(task).version == 1


def test_an_edit_of_the_version_that_was_read_goes_through(alpha):
    task = make_task(alpha, once())

    assert call("tasks", "edit", str(task.id), "--name", "x", "--version", "1").code == 0


def test_an_earlier_version_is_brought_back_as_a_new_one(alpha):
    task = make_task(alpha, daily(name="First"))
    call("tasks", "edit", str(task.id), "--set", "name=Second")

    dry = call("tasks", "rollback", str(task.id), "1", "--dry-run", "--json")
    assert reload(task).name == "Second"
    said = call("tasks", "rollback", str(task.id), "1", "--json")

    document = read_document("tasks-rollback", said.out)
    assert (said.code, document["task"]["name"], document["task"]["version"]) == (0, "First", 3)
    assert read_document("tasks-rollback", dry.out)["changes"] == document["changes"]


@pytest.mark.parametrize(("version", "code"), [("7", 3), ("0", 3)])
def test_only_a_version_that_was_comes_back(alpha, version, code):
    task = make_task(alpha)

    assert call("tasks", "rollback", str(task.id), version).code == code
    assert call("tasks", "rollback", str(task.id), "1", "--version", "9").code == 4
    assert reload(task).version == 1


def _exported(*words: str) -> list[dict]:
    tasks: list[dict] = read_document("tasks-export", call("tasks", "export", *words).out)["tasks"]
    return tasks


def _create_from(path, *words: str) -> dict:
    said = call("tasks", "create", "--file", str(path), *words, "--json")
    assert said.code == 0, said.err
    return read_document("tasks-create", said.out)


def test_creating_from_an_export_twice_makes_nothing_twice(alpha, beta, tmp_path):
    for name in ("One", "Two"):
        make_task(alpha, daily(name=name))
    path = tmp_path / "tasks.json"
    path.write_text(call("tasks", "export", "--tenant", "Alpha").out)

    first = _create_from(path, "--tenant", "Beta")
    second = _create_from(path, "--tenant", "Beta")
    back = _create_from(path, "--tenant", "Alpha")

    assert [len(first["tasks"]), len(first["unchanged"])] == [2, 0]
    for found in (second, back):
        assert found["tasks"] == []
        assert [one["differs"] for one in found["unchanged"]] == [False, False]
    assert Task.objects.count() == 4
    # The keys come through: what beta exports is known to alpha.
    ours, theirs = ({one["key"]: one for one in _exported("--tenant", name)} for name in NAMES)
    assert ours == theirs


def test_a_task_that_was_edited_or_deleted_meanwhile_is_told_and_made_again(alpha, tmp_path):
    edited, deleted = make_task(alpha, daily(name="Edited")), make_task(alpha, daily(name="Gone"))
    path = tmp_path / "tasks.json"
    path.write_text(call("tasks", "export").out)
    assert call("tasks", "edit", str(edited.id), "--cron", "5 5 * * *").code == 0
    delete_task(alpha.id, deleted.id, actor=ACTOR)

    dry = _create_from(path, "--dry-run")
    assert [task["name"] for task in dry["tasks"]] == ["Gone"]
    said = call("tasks", "create", "--file", str(path))
    again = _create_from(path)

    assert "is there already and differs; it stays as it is" in said.out
    assert "1 created, 1 there already" in said.err
    assert [one["differs"] for one in again["unchanged"]] == [True, False]
    assert Task.objects.filter(deleted_at=None).count() == 2


def test_secrets_that_were_written_into_an_export_are_no_difference(alpha, beta, tmp_path):
    target = {**TARGET, "headers": {"Authorization": "Bearer s3cr3t"}}
    make_task(alpha, daily(target=target))
    document = json.loads(call("tasks", "export", "--tenant", "Alpha").out)
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(document).replace("[redacted]", "Bearer s3cr3t"))

    assert len(_create_from(path, "--tenant", "Beta")["tasks"]) == 1
    [unchanged] = _create_from(path, "--tenant", "Beta")["unchanged"]
    assert unchanged["differs"] is False
    path.write_text(json.dumps(document))
    assert _create_from(path, "--tenant", "Beta")["unchanged"][0]["differs"] is False


def test_what_is_wrong_with_a_key_is_named(alpha, tmp_path):
    make_task(alpha)
    [task] = _exported()
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps([task, task]))

    said = call("tasks", "create", "--file", str(path))

    assert said.code == 2
    assert "tasks.1.key: Another task of the file has this key" in said.err
