from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from events.models import AuditEntry
from executions.bulk.setting import set_fields
from executions.changes.importing import Action, Planned, Source, import_crontab
from executions.loop.clocks import database_now
from shared.exceptions import InvalidInput, QuotaExceeded
from tasks.importers.crontab import parse_crontab
from tasks.limits import Limits, current_limits
from tasks.models import Task
from tasks.revisions import read_definition
from tenants.services import change_quotas
from tests.factories import ACTOR, executions_of, prepare

pytestmark = pytest.mark.django_db

URL = "https://example.com/run"
TEXT = "* * * * * one\n0 2 * * * two\n@reboot three\n"


def _import(tenant, text: str = TEXT, *, url: str = URL, path: str = "/etc/cron.d/mine", **limits):
    source = Source(path, url, limits.get("limits") or current_limits())
    jobs = parse_crontab(text, system=False)
    return import_crontab(tenant.id, jobs, source, actor=ACTOR, now=database_now())


def _actions(plan: list[Planned]) -> list[Action]:
    return [item.action for item in plan]


def test_every_job_becomes_a_paused_task(alpha):
    plan = _import(alpha)

    assert _actions(plan) == [Action.NEW, Action.NEW, Action.REFUSED]
    assert [task.status for task in Task.objects.for_tenant(alpha.id)] == ["PAUSED", "PAUSED"]
    assert plan[0].schedule_text == "Every minute, UTC"
    assert len(plan[1].fires) == 3
    assert plan[2].reason.startswith("@reboot")


def test_an_imported_task_does_not_run_before_it_is_resumed(alpha):
    (planned, *_) = _import(alpha, "* * * * * every minute\n")

    prepare()

    assert planned.task is not None
    assert executions_of(planned.task) == []


def test_the_definition_says_where_it_comes_from(alpha):
    (planned,) = _import(alpha, "0 2 * * * backup --all\n")

    assert planned.task is not None
    definition = read_definition(planned.task)
    assert definition.target["url"] == URL
    assert definition.payload["command"] == "backup --all"
    assert planned.task.labels["import_file"] == "mine"
    assert planned.task.pause_note == "imported from mine, line 1"


def test_a_second_import_makes_nothing_twice(alpha):
    first = _import(alpha)

    second = _import(alpha, f"# moved down\n{TEXT}")

    assert _actions(second) == [Action.UNCHANGED, Action.UNCHANGED, Action.REFUSED]
    assert [item.task.id for item in second[:2]] == [item.task.id for item in first[:2]]
    assert Task.objects.count() == 2


def test_a_new_line_is_added_to_what_is_there(alpha):
    _import(alpha)

    plan = _import(alpha, f"{TEXT}0 4 * * * four\n")

    assert _actions(plan)[-1] is Action.NEW
    assert Task.objects.count() == 3


def test_a_task_that_was_imported_otherwise_is_left_alone_and_pointed_out(alpha):
    _import(alpha)

    plan = _import(alpha, f"CRON_TZ=Europe/Berlin\n{TEXT}", url="https://example.com/other")

    assert "URL (https://example.com/run)" in plan[0].notes[0]
    assert "timezone (UTC)" in plan[0].notes[0]


def test_a_task_that_calls_no_webhook_any_more_is_pointed_out(alpha):
    task = _import(alpha)[0].task
    set_fields(alpha.id, task.id, {"target": {"kind": "handler", "handler": "reports"}}, ACTOR)

    plan = _import(alpha)

    assert plan[0].notes == ("its task stays as it is, but differs in target (handler)",)


def test_a_deleted_task_is_imported_anew(alpha):
    _import(alpha)
    Task.objects.update(deleted_at=database_now())

    assert _actions(_import(alpha))[0] is Action.NEW


def test_files_and_tenants_do_not_share_their_tasks(alpha, beta):
    _import(alpha)

    assert _actions(_import(alpha, path="/etc/cron.d/other"))[0] is Action.NEW
    assert _actions(_import(beta))[0] is Action.NEW


def test_a_wrong_target_is_the_callers_mistake_and_changes_nothing(alpha):
    with pytest.raises(InvalidInput) as raised:
        _import(alpha, url="http://127.0.0.1/")

    assert raised.value.errors[0].pointer == "#/target/url"
    assert Task.objects.count() == 0


def test_a_job_that_is_too_large_is_refused_alone(alpha):
    limits = Limits(payload_bytes=200, allow_list=current_limits().allow_list)

    plan = _import(alpha, f"0 1 * * * small\n0 2 * * * {'x' * 300}\n", limits=limits)

    assert _actions(plan) == [Action.NEW, Action.REFUSED]
    assert plan[1].reason


def test_a_line_more_is_one_statement_more(alpha):
    def statements_of(lines: range) -> int:
        text = "".join(f"{line % 60} {line // 60} * * * line {line}\n" for line in lines)
        with CaptureQueriesContext(connection) as captured:
            assert _actions(_import(alpha, text)) == [Action.NEW] * len(lines)
        return len(captured)

    # What a first import asks about and keeps in memory.
    statements_of(range(1))
    few, many = statements_of(range(1, 3)), statements_of(range(3, 45))

    assert many <= few + 40


def test_an_import_spends_its_rate_as_one_call(alpha):
    change_quotas(alpha.id, actor=ACTOR, limits={"creations_per_second": 1})
    _import(alpha, "".join(f"{line} 1 * * * line {line}\n" for line in range(9)))

    with pytest.raises(QuotaExceeded):
        _import(alpha, "0 2 * * * more\n")
    assert Task.objects.count() == 9


def test_every_import_is_audited(alpha):
    _import(alpha, "0 1 * * * a\n")

    actions = list(AuditEntry.objects.order_by("sequence").values_list("action", flat=True))
    assert actions[-2:] == ["task.created", "task.paused"]
