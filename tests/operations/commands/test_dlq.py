from __future__ import annotations

import json
from typing import Any

import pytest

from executions.dead_letters.letters import archive_dead_letter
from executions.models import BulkJob, DeadLetter, Execution
from executions.payloads import payload_of
from shared.redaction import MASK
from tenants.models import Tenant
from tests.factories import ACTOR, make_dead_letter, once
from tests.operations.commands.letters_of import make_letters, states, work_while_waiting
from tests.support.command_calls import call, type_in
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> None:
    work_while_waiting(monkeypatch)


def _read(verb: str, *words: str) -> dict[str, Any]:
    said = call("dlq", verb, *words, "--json")
    assert said.code == 0, said.err
    return read_document(f"dlq-{verb}", said.out)


def test_groups_count_the_open_ones_by_cause(alpha: Tenant):
    first, *_ = make_letters(alpha, 3)
    archive_dead_letter(alpha.id, first.id, note="", actor=ACTOR)

    document = _read("groups")

    (group,) = document["groups"]
    assert (group["error_signature"], group["count"], group["tasks"]) == ("http_status:500", 2, 2)
    assert "http_status:500" in call("dlq", "groups").out


def test_list_is_bounded_by_tenant_state_and_filter(alpha: Tenant, beta: Tenant):
    mine, other = make_dead_letter(alpha), make_dead_letter(beta, once(name="Reports"))

    assert {item["id"] for item in _read("list")["dead_letters"]} == {str(mine.id), str(other.id)}
    assert _read("list", "--tenant", "Alpha")["dead_letters"][0]["id"] == str(mine.id)
    assert _read("list", "--q", "reports")["total"] == 1
    assert _read("list", "--task", str(mine.task_id)[-12:])["total"] == 1
    assert _read("list", "--signature", "timeout")["total"] == 0
    assert _read("list", "--state", "resolved")["total"] == 0


def test_list_fits_80_columns_and_says_when_there_is_more(alpha: Tenant):
    make_dead_letter(alpha, once(name="x" * 200))
    make_dead_letter(alpha)

    said = call("dlq", "list", "--limit", "1")

    assert all(len(line) <= 80 for line in call("dlq", "list").out.splitlines())
    assert said.err.startswith("1 of 2 dead letters")


def test_payloads_are_masked_unless_asked_for(alpha: Tenant):
    letter = make_dead_letter(alpha)

    for verb, words in (("list", ()), ("show", (str(letter.id),))):
        hidden, open_ = _read(verb, *words), _read(verb, *words, "--payload")
        if verb == "list":
            (hidden,), (open_,) = hidden["dead_letters"], open_["dead_letters"]
        assert (hidden["payload"], open_["payload"]) == (MASK, {"n": 1})
    assert "see it with --payload" in call("dlq", "show", str(letter.id)).out


def test_show_finds_a_letter_by_the_end_of_its_id(alpha: Tenant):
    letter = make_dead_letter(alpha)

    said = call("dlq", "show", str(letter.id)[-12:])

    assert said.code == 0
    assert "attempt    1: FAILED 500" in said.out
    assert call("dlq", "show", "0" * 12).code == 3


def test_export_prints_one_line_for_each(alpha: Tenant):
    letters = make_letters(alpha, 2)

    said = call("dlq", "export")

    lines = [json.loads(line) for line in said.out.splitlines()]
    assert [line["id"] for line in lines] == [str(letter.id) for letter in letters]
    assert {line["payload"] for line in lines} == {MASK}
    assert said.err == "2 dead letters\n"
    assert _read("export")["total"] == 2


def test_one_letter_is_retried_at_once_with_another_payload(alpha: Tenant):
    letter = make_dead_letter(alpha)

    document = _read("retry", str(letter.id), "--payload", '{"n": 2}')

    assert payload_of(Execution.objects.get(pk=document["execution_id"])) == {"n": 2}
    assert states([letter]) == ["retried"]
    # It is resolved now.
    assert call("dlq", "retry", str(letter.id)).code == 4


@pytest.mark.parametrize("verb", ["resolve", "archive"])
def test_one_letter_is_closed_with_a_note(alpha: Tenant, verb: str):
    letter = make_dead_letter(alpha)

    _read(verb, str(letter.id), "--note", "by hand")

    letter.refresh_from_db()
    assert (letter.resolved, letter.note) == (True, "by hand")


def test_a_purge_of_one_wants_the_count_typed(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    letter = make_dead_letter(alpha)

    assert call("dlq", "purge", str(letter.id), "--dry-run").code == 0
    assert call("dlq", "purge", str(letter.id)).code == 2
    type_in(monkeypatch, "y\n")
    assert call("dlq", "purge", str(letter.id)).code == 1
    assert DeadLetter.objects.count() == 1
    type_in(monkeypatch, "1\n")
    assert call("dlq", "purge", str(letter.id)).code == 0
    assert not DeadLetter.objects.exists()


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("verb", ["retry", "resolve", "archive", "purge"])
def test_many_are_a_bulk_job_whose_scope_is_the_sum_of_what_came(alpha: Tenant, verb: str):
    make_letters(alpha, 3)

    document = _read(verb, "--signature", "http_status:500", "--yes")

    job = document["bulk_job"]
    assert document["scope"]["count"] == 3 == job["done"] + job["skipped"] + job["failed"]
    assert (job["status"], job["done"]) == ("COMPLETED", 3)
    assert not DeadLetter.objects.filter(resolved=False).exists()


@pytest.mark.usefixtures("worker")
def test_the_scope_is_said_before_and_the_sum_after(alpha: Tenant):
    make_letters(alpha, 2)

    said = call("dlq", "archive", "--all", "--yes")

    assert said.err.startswith("2 dead letters, oldest ")
    assert "2 tasks, 1 tenant (Alpha)" in said.err
    assert said.out == "done 2, skipped 0, failed 0\n"


@pytest.mark.usefixtures("worker")
def test_several_ids_are_one_job_of_one_tenant(alpha: Tenant, beta: Tenant):
    letters, other = make_letters(alpha, 3), make_dead_letter(beta)

    ids = [str(letter.id) for letter in letters[:2]]

    assert call("dlq", "archive", ids[0], str(other.id), "--yes").code == 2
    assert call("dlq", "archive", *ids, "--yes").code == 0
    assert states(letters) == ["archived", "archived", ""]


def test_a_dry_run_shows_the_scope_and_makes_no_job(alpha: Tenant):
    letters = make_letters(alpha, 2)

    document = _read("purge", "--all", "--dry-run")

    assert (document["scope"]["count"], document["bulk_job"]) == (2, None)
    assert (states(letters), BulkJob.objects.count()) == (["", ""], 0)


def test_nothing_that_matches_is_no_error(alpha: Tenant):
    said = call("dlq", "retry", "--all", "--yes")

    assert (said.code, said.out) == (0, "0 dead letters of the tenant Alpha match\n")


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--all", "--q", "x"),
        ("abc123", "--all"),
        ("--all", "--rate", "fast"),
        ("--all", "--payload", "{"),
        ("--all", "--canary", "0", "--yes"),
        ("--all", "--stop-on-failure-rate", "2", "--yes"),
    ],
)
def test_a_choice_that_cannot_be_meant_exits_with_2(alpha: Tenant, words: tuple[str, ...]):
    make_letters(alpha, 2)

    assert call("dlq", "retry", *words).code == 2
    assert not BulkJob.objects.exists()


def test_the_tenant_must_be_named_where_there_are_several(alpha: Tenant, beta: Tenant):
    make_letters(alpha, 2)

    assert call("dlq", "retry", "--all", "--yes", "--detach").code == 2
    assert call("dlq", "retry", "--all", "--yes", "--detach", "--tenant", "Alpha").code == 0


def test_without_a_terminal_many_need_yes(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    make_letters(alpha, 2)
    type_in(monkeypatch, "y\n", terminal=False)

    assert call("dlq", "retry", "--all").code == 2
    assert not BulkJob.objects.exists()
