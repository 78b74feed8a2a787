from __future__ import annotations

import pytest

from shared.actor import COMMAND
from tasks.models import Pause
from tests.executions.changes.standing import end, stand
from tests.factories import make_task, reload
from tests.support.command_calls import call, type_in
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db


def test_a_pause_is_created_after_saying_what_it_holds(alpha):
    task = make_task(alpha)

    said = call(
        *("pauses", "create", "label", "team:billing", "--until", "2h"),
        *("--note", "INC-42", "--on-resume", "replay", "--yes", "--json"),
    )

    document = read_document("pauses-create", said.out)
    made = Pause.objects.get()
    assert document["pause"]["id"] == str(made.id)
    assert document["reach"]["task_count"] == document["pause"]["task_count"] == 1
    assert (made.note, made.on_resume, made.created_by) == ("INC-42", "replay", COMMAND.name)
    assert made.until is not None
    assert reload(task).pause_id == made.id


def test_a_dry_run_only_counts(alpha):
    make_task(alpha)

    document = read_document(
        "pauses-create", call(*"pauses create tenant --dry-run --json".split()).out
    )
    said = call("pauses", "create", "destination", "api.example.com", "--dry-run")

    assert document["pause"] is None
    assert document["reach"]["task_count"] == 1
    assert said.out == "would pause 1 task of the destination api.example.com\n"
    assert not Pause.objects.exists()


def test_it_asks_first(alpha, monkeypatch):
    type_in(monkeypatch, "n\n")

    said = call("pauses", "create", "tenant")

    assert said.code == 1
    assert "Pause 0 tasks of the whole tenant, and later ones?" in said.err
    assert not Pause.objects.exists()


def test_several_tenants_have_to_be_told_apart(alpha, beta):
    assert call("pauses", "create", "tenant", "--yes").code == 2

    assert call("pauses", "create", "tenant", "--tenant", "Beta", "--yes").code == 0
    assert Pause.objects.get().tenant == beta


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["label"], 2),
        (["tenant", "x"], 2),
        (["destination", "https://api.example.com"], 2),
        (["label", "a", "--until", "2020-01-01T00:00:00Z"], 2),
        (["label", "a", "--until", "soon"], 2),
        (["label", "a", "--note", "x" * 1001], 2),
        (["label", "team"], 4),
    ],
)
def test_what_cannot_be_paused_is_refused(alpha, words, code):
    stand(alpha, "label", "team")

    assert call("pauses", "create", *words, "--yes").code == code
    assert Pause.objects.count() == 1


def test_list_shows_open_pauses_by_tenant(alpha, beta):
    make_task(alpha)
    first, second, other = stand(alpha), stand(alpha, "tenant", ""), stand(beta)
    end(second)

    def listed(*words: str) -> list[str]:
        document = read_document("pauses-list", call("pauses", "list", *words, "--json").out)
        return [one["id"] for one in document["pauses"]]

    assert listed() == [str(other.id), str(first.id)]
    assert listed("--tenant", "Alpha") == [str(first.id)]
    assert listed("--tenant", "Alpha", "--all") == [str(second.id), str(first.id)]
    assert listed("--limit", "1") == [str(other.id)]
    lines = call("pauses", "list", "--all").out.splitlines()
    assert any("label team:billing" in line and "ended" not in line for line in lines)
    assert any("tenant" in line and line.endswith("ended") for line in lines[1:])
    assert all(len(line) <= 80 for line in lines)
    assert str(first.id) in call("pauses", "list", "--wide").out


def test_end_finds_a_pause_by_the_end_of_its_id_and_asks(alpha):
    task = make_task(alpha)
    made = stand(alpha)
    tail = str(made.id)[-12:]
    assert call("pauses", "end", tail).code == 2

    document = read_document("pauses-end", call("pauses", "end", tail, "--yes", "--json").out)

    assert (document["id"], document["task_count"]) == (str(made.id), 1)
    assert document["ended_by"] == COMMAND.name
    assert reload(task).status == "SCHEDULED"
    assert call("pauses", "end", tail, "--yes").code == 4
    assert call("pauses", "end", "0" * 12, "--yes").code == 3


def test_resuming_a_held_task_by_command_names_the_pause(alpha):
    task = make_task(alpha)
    made = stand(alpha)

    said = call("tasks", "resume", str(task.id))

    assert said.code != 0
    assert str(made.id) in said.out + said.err


def test_tasks_show_tells_what_holds_a_task(alpha):
    task = make_task(alpha)
    made = stand(alpha)

    document = read_document("tasks-show", call("tasks", "show", str(task.id), "--json").out)

    assert document["paused_by"]["id"] == str(made.id)
