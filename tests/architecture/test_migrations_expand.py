"""Old code works on the new schema: migrations add, and take away one release later (J5)."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import connection, migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation

from tests.architecture import tree
from tests.architecture.rules import expansion
from tests.factories import make_dead_letter, make_tenant

#: The last migration of each app in the release before; what comes later meets its code.
PREVIOUS_RELEASE = {
    "events": "0002_audit_entries_are_append_only",
    "executions": "0001_ledger",
    "tasks": "0001_initial",
    "tenants": "0001_initial",
}
#: Migrations that old code does not survive: UPGRADING.md tells to stop it first.
RELEASE_BREAKS = {
    "events 0005_ends_of_chains": "who appends locks the chain otherwise",
    "executions 0015_queue_and_history": "unfinished work and history part ways",
    "executions 0016_priority": "claims order by priority, and bands are no longer written",
    "executions 0017_one_index_of_attempts": "the recorder's insert names the new key",
    "executions 0020_lease_of_a_node": "schedulers renew one lease of theirs, not each partition's",
    "tasks 0020_cursors_apart": "the scheduler moves cursors in a table of their own",
    "tasks 0023_limits_beside_tasks": "what old code edits afterwards would be prepared as before",
    "tasks 0022_last_runs_apart": "the recorder writes last runs of recurring tasks elsewhere",
    "tasks 0027_cursors_without_key": "what takes work back names the key that goes",
}
#: Models that went with a break.
GONE = {"executions.LedgerFloor"}
#: Columns that went with a break.
GONE_COLUMNS = {
    "tasks.Task": {"next_run_at", "occurrence_count", "replayed_until"},
}
# Migration -> its steps that are no additions, and why old code survives them all the same.
ACCEPTED: dict[str, dict[str, str]] = {
    "executions 0004_gate_and_series": {
        "AddConstraint execution gated_work_is_pending_and_held": "old code never sets `gated`",
        "AddIndex execution executions_gated_idx": "partial, empty: no row is gated yet",
        "AddIndex execution executions_of_series_idx": "partial, empty: no row has a series yet",
    },
    "executions 0005_counted_executions": {
        "AddIndex execution executions_counted_idx": "partial, empty: no row is counted yet",
    },
    "executions 0006_delivery": {
        "RemoveIndex execution executions_due_idx": "it comes back under its name, for the "
        "statements of old code too: what they ask for implies `not parked` by its default",
        "AddIndex execution executions_due_idx": "unfinished work only, which is little",
        "AddIndex execution executions_parked_idx": "partial, empty: no row is parked yet",
        "AddIndex execution executions_pull_idx": "partial, empty: no pool is pulled yet",
    },
    "executions 0008_rare_executions": {"RunSQL": "of its own session only"},
    "executions 0018_room_for_renewals": {
        "RunSQL": "room in new pages; nothing that is there changes",
    },
    "executions 0019_fewer_statistics": {
        "RunSQL": "what statistics PostgreSQL keeps; no statement depends on them"
    },
    "executions 0033_day_functions": {"RunSQL": "functions that old code does not call"},
    "events 0011_events_of_tenants": {"RunSQL": "of its own session only"},
    "events 0010_forget_audit_entries": {"RunSQL": "a function that old code does not call"},
    "executions 0021_leased_by_pull_workers": {
        "RunSQL": "an index of unfinished work of pull workers only, which is little"
    },
    "executions 0030_shares": {
        "RunSQL": "an index of unfinished work; writes of it wait a second for a million rows"
    },
    "executions 0031_holds": {
        "RunSQL": "a function, indexes of work on hold, and places that old code gives anew"
    },
    "executions 0032_metric_totals": {"RunSQL": "a function that old code does not call"},
    "executions 0036_gave_way_and_names": {"RunSQL": "a cause as old code writes it, too"},
    "events 0006_fewer_statistics": {
        "RunSQL": "what statistics PostgreSQL keeps; no statement depends on them"
    },
    "events 0007_keyed_audit_chains": {"RunSQL": "refuses TRUNCATE, which no code does"},
    "events 0009_audit_prefixes_may_go": {"RunSQL": "refuses what it refused, with an exception"},
    "executions 0022_workflows": {
        "RunSQL": "columns that may be empty, tables and partial indexes of what is new"
    },
    "executions 0023_marks_of_steps": {"RunSQL": "a partial index of what is rare"},
    "executions 0025_workflow_retries": {
        "RunSQL": "a table and a partial index of what is new",
    },
    "executions 0028_limits_in_flight": {"RunSQL": "indexes of unfinished work, which is little"},
    "executions 0029_concurrency_keys": {
        "RunSQL": "a check and partial indexes of what is new: old code writes no key",
    },
    "tasks 0029_manual_tasks": {"RunSQL": "a check that allows one more type"},
    "tasks 0025_cursors_of_one_tenant": {
        "RemoveIndex taskcursor task_cursors_of_tenant_idx": "it comes back under its name",
        "AddIndex taskcursor task_cursors_of_tenant_idx": "UPGRADING says that changes wait",
    },
    "executions 0035_waiting_approvals": {
        "RunSQL": "an index that is built, and dropped, while others write"
    },
    "tasks 0026_cursors_swept_by_thousands": {
        "RunSQL": "when the table is vacuumed and analyzed; nothing that is there changes"
    },
    "tasks 0027_cursors_without_key": {
        "RunSQL": "the primary key goes in the stop that UPGRADING asks for",
        "AddIndex taskcursor task_cursors_of_task_idx": "UPGRADING says that changes wait",
        "AddConstraint taskcursor task_cursors_not_run_key": "UPGRADING says that changes wait",
    },
    "tasks 0024_fewer_statistics": {
        "RunSQL": "what statistics PostgreSQL keeps; no statement depends on them"
    },
    "events 0002_audit_entries_are_append_only": {"RunSQL": "a part of the first release"},
    "executions 0001_ledger": {"RunSQL": "the first release begins with it"},
    "events 0004_event_batches": {"RunSQL": "UPGRADING asks to stop the old version first"},
    "events 0001_initial": {"RunSQL": "the first release begins with it"},
    "tasks 0002_next_of_tenant": {
        "AddIndex task tasks_next_of_tenant_idx": "UPGRADING says that changes of tasks wait",
    },
    "tasks 0003_calendars_pauses_zones": {
        "AddIndex task tasks_failing_idx": "partial, empty: no task pauses itself yet",
        "AddIndex task tasks_of_pause_idx": "partial, empty: no task is under a pause yet",
    },
    "tasks 0004_fill_destinations": {
        "RunSQL": "of its own session, or fills a column that old code does not know",
    },
    "tenants 0002_default_jitter": {
        "AddConstraint tenant default_jitter_is_within_a_day": "old code leaves it at its default",
    },
    "tasks 0005_tasks_with_calendars": {
        "AddIndex task tasks_with_calendars_idx": "partial, empty: no task has calendars yet",
    },
    "tasks 0007_lighter_updates": {
        "RunSQL": "room in new pages; nothing that is there changes",
    },
    "tasks 0008_one_index_of_revisions": {
        "AlterField taskrevision task": "drops an index that the constraint's makes up for",
    },
    "tasks 0009_lists_count_by_index": {
        "RunSQL": "of its own session, or of an index that a build cut off has left",
    },
    "tasks 0010_due_tasks_singly": {
        "RunSQL": "how new entries of an index are kept; nothing that is there changes",
    },
    "tasks 0017_tasks_by_owner": {"RunSQL": "of its own session only"},
    "tasks 0021_one_index_of_tenants": {
        "RunSQL": "of its own session, or of an index that a build cut off has left",
        "AlterField task tenant": "drops an index that the new one makes up for",
    },
    "tasks 0012_paused_tasks": {
        "RunSQL": "of its own session, or of an index that a build cut off has left",
    },
    "executions 0011_one_name_of_destinations": {
        "RunSQL": "of its own session only",
        "RunPython": "old code finds limits and tasks by the same name: all spell it alike",
    },
    "tasks 0013_one_name_of_destinations": {
        "RunSQL": "of its own session only",
        "RunPython": "old code compares the column with limits, which the same release renames",
    },
    "notifications 0002_confirmed_addresses": {
        "RunSQL": "fills a column that old code does not know",
    },
    "notifications 0003_one_browser_of_each_member": {
        "AddConstraint pushsubscription one_push_subscription_per_browser": "old code lets an "
        "endpoint stand once in the whole table, and there are few rows",
        "AlterField pushsubscription endpoint": "drops a rule and its index; old code looks for an "
        "endpoint among few rows",
    },
    "notifications 0004_suppressed_while_suspended": {
        "AlterField delivery reason": "one more word for people; the column stays as it is",
    },
    "notifications 0009_reasons_of_channels": {
        "AlterField delivery reason": "two more words for people; the column stays as it is",
    },
    "notifications 0007_alert_channels": {
        "AlterField delivery channel": "two more words for people; the column stays as it is",
        "AlterField delivery membership": "it may be empty; old code fills it",
        "AddConstraint delivery one_delivery_per_notice_and_channel": "old code writes to no "
        "channel, and there are few rows",
        "AddConstraint delivery delivery_has_one_receiver": "old code names a member and no "
        "channel, and there are few rows",
    },
    "notifications 0006_alert_rules": {
        "RemoveConstraint alert one_open_alert_per_cause": "the new one refuses what it refused",
        "RemoveConstraint alert alert_kind_is_known": "it comes back in the same step, wider",
        "RemoveConstraint notificationpreference notification_events_are_known": "it comes back in "
        "the same step, wider",
        "AlterField alert kind": "a longer text; old code writes shorter ones",
        "AlterField alert error_signature": "a default of the code; the column stays as it is",
        "AlterField alert task_id": "it may be empty; old code fills it",
        "AlterField alert task_name": "a default of the code; the column stays as it is",
        "AlterField alert execution_id": "it may be empty; old code fills it",
        "AddConstraint alert one_open_alert_per_subject": "old code keeps one open alert per cause",
        "AddConstraint alert alert_kind_is_known": "it allows what old code writes, and more",
        "AlterField notificationpreference email_events": "longer texts; old code writes shorter",
        "AlterField notificationpreference push_events": "longer texts; old code writes shorter",
        "AlterField notificationpreference console_events": "longer texts; old code writes shorter",
        "AddConstraint notificationpreference notification_events_are_known": "it allows what old "
        "code writes, and more",
        "RunSQL": "words that old code shows as they are, and a member's next edit may drop",
    },
    "notifications 0008_sealed_endpoints": {
        "RemoveConstraint pushsubscription one_push_subscription_per_browser": "old code looks for "
        "an endpoint among few rows; sealed ones have none in the clear",
        "AddConstraint pushsubscription one_push_subscription_per_endpoint": "old code writes no "
        "digest, and there are few rows",
        "AlterField pushsubscription endpoint": "a default for what old code always writes",
    },
    "tasks 0015_export_keys": {
        "RunSQL": "of its own session, or of an index that a build cut off has left",
    },
    "tasks 0018_suspensions": {
        "RemoveConstraint pause pause_scope_is_known": "it comes back in the next step",
        "AddConstraint pause pause_scope_is_known": "it allows what old code writes, and more, and "
        "pauses are few",
    },
    "tenants 0012_weight": {
        "AddConstraint tenant weight_is_1_to_1000": "the default fits; old code writes no weight"
    },
    "tenants 0003_one_index_of_answers": {
        "AlterField idempotencyrecord tenant": "drops an index that the constraint's makes up for",
    },
    "tenants 0011_data_keys": {
        "RunSQL": "only the way back, which it refuses while there are keys"
    },
    "tenants 0013_sealed_targets": {
        "RunSQL": "only the way back, which it refuses while targets are sealed"
    },
    "tenants 0005_right_to_see_payloads": {
        "AddConstraint membership admins_and_owners_see_payloads": "old code writes no such column",
        "AddConstraint apikey keys_that_send_or_lease_see_payloads": "the same of keys",
    },
}


def _ours() -> Iterator[tuple[str, migrations.Migration]]:
    loader = MigrationLoader(None)
    for (app, name), migration in sorted(loader.disk_migrations.items()):
        if app in tree.packages():
            yield f"{app} {name}", migration


def _released() -> set[str]:
    text = (tree.REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    return set(re.findall(r"^## \[(\d+\.\d+\.\d+)\]", text, re.MULTILINE))


def test_every_migration_only_adds_or_is_a_contraction():
    found = [
        f"{title}: {breach}"
        for title, migration in _ours()
        if not getattr(migration, "contract_after", "") and title not in RELEASE_BREAKS
        for breach in expansion.breaches(migration)
        if breach.split(":")[0] not in ACCEPTED.get(title, {})
    ]

    assert not found, tree.report(found)


def test_a_release_break_is_unreleased_and_tells_to_stop():
    text = (tree.REPOSITORY / "UPGRADING.md").read_text(encoding="utf-8")
    unreleased = text[text.index("## Unreleased") :].split("\n## ")[0]

    assert "Stop every process of the old version" in unreleased
    for title in RELEASE_BREAKS:
        assert title in dict(_ours())
        assert f"`{title}`" in unreleased


def test_a_contraction_waits_for_a_release_that_is_out():
    found = [
        f"{title}: contract_after {release!r} is no release of CHANGELOG.md"
        for title, migration in _ours()
        if (release := getattr(migration, "contract_after", "")) and release not in _released()
    ]

    assert not found, tree.report(found)


def test_contractions_and_nothing_else_are_named_so():
    found = [
        title
        for title, migration in _ours()
        if ("_post_" in title) != bool(getattr(migration, "contract_after", ""))
    ]

    assert not found, tree.report(found)


def test_what_the_release_before_knows_is_still_there_and_of_its_type():
    loader = MigrationLoader(None)
    before = loader.project_state(list(PREVIOUS_RELEASE.items())).apps
    now = loader.project_state().apps
    found = []
    for old in before.get_models():
        if old._meta.app_label not in PREVIOUS_RELEASE:
            continue
        if old._meta.label in GONE:
            continue
        new = now.get_model(old._meta.label)
        columns = {field.column: field for field in new._meta.local_concrete_fields}
        gone = GONE_COLUMNS.get(old._meta.label, set())
        for field in old._meta.local_concrete_fields:
            if field.column in gone:
                continue
            same = columns.get(field.column)
            if same is None or same.db_type(connection) != field.db_type(connection):
                found.append(f"{old._meta.label}.{field.name} is gone or of another type")

    assert not found, tree.report(found)


@pytest.mark.django_db
@pytest.mark.parametrize("label", ["tenants.Tenant", "executions.DeadLetter"])
def test_code_of_the_release_before_writes_and_reads_on_the_new_schema(label: str):
    make_dead_letter(make_tenant("Alpha"))
    apps = MigrationLoader(None).project_state(list(PREVIOUS_RELEASE.items())).apps
    old: Any = apps.get_model(label)
    row = old.objects.first()

    _become_another(row)
    row.save(force_insert=True)

    assert old.objects.filter(pk=row.pk).exists()


@pytest.mark.django_db
def test_code_of_the_release_before_adds_work_to_the_new_ledger():
    letter = make_dead_letter(make_tenant("Alpha"))
    apps = MigrationLoader(None).project_state(list(PREVIOUS_RELEASE.items())).apps
    old: Any = apps.get_model("executions.Execution")
    row = old.objects.get(pk=letter.execution_id)

    # The time of its day stays in the id; the end makes it another one.
    row.pk = uuid.UUID(int=row.pk.int ^ 1)
    row.save(force_insert=True)

    assert old.objects.filter(task_id=row.task_id).count() == 2


def _become_another(row: Any) -> None:
    row.pk = uuid.uuid4()
    for field in row._meta.local_concrete_fields:
        if field.unique and not field.primary_key:
            made = uuid.uuid4()
            setattr(row, field.attname, made if "id" in field.name else f"another-{made.hex[:8]}")


def _migration(*operations: Operation) -> migrations.Migration:
    class MadeUp(migrations.Migration):
        pass

    MadeUp.operations = operations
    return MadeUp("0009_made_up", "tasks")


@pytest.mark.parametrize(
    "step",
    [
        migrations.RemoveField("task", "name"),
        migrations.DeleteModel("Task"),
        migrations.RenameField("task", "name", "title"),
        migrations.RenameModel("Task", "Job"),
        migrations.AlterField("task", "name", models.TextField()),
        migrations.AddField("task", "new", models.IntegerField()),
        migrations.AddField("task", "new", models.IntegerField(default=0), preserve_default=True),
        migrations.AddIndex("task", models.Index(fields=["name"], name="i")),
        migrations.RemoveIndex("task", "i"),
        migrations.AddConstraint("task", models.UniqueConstraint(fields=["name"], name="u")),
        migrations.RunSQL("SELECT 1"),
        migrations.RunPython(migrations.RunPython.noop),
        migrations.SeparateDatabaseAndState([migrations.RunSQL("SELECT 1")], []),
    ],
    ids=expansion.name_of,
)
def test_the_rule_refuses_what_old_code_may_not_survive(step: Operation):
    assert expansion.breaches(_migration(step))


@pytest.mark.parametrize(
    "step",
    [
        migrations.CreateModel("New", [("id", models.UUIDField(primary_key=True))]),
        migrations.AddField("task", "new", models.IntegerField(null=True)),
        migrations.AddField("task", "new", models.IntegerField(default=0, db_default=0)),
        AddIndexConcurrently("task", models.Index(fields=["name"], name="i")),
        migrations.SeparateDatabaseAndState([], [migrations.RemoveField("task", "name")]),
    ],
    ids=expansion.name_of,
)
def test_the_rule_leaves_additions_alone(step: Operation):
    assert expansion.breaches(_migration(step)) == []


def test_what_a_migration_adds_to_its_own_new_table_is_no_breach():
    new = migrations.CreateModel("New", [("id", models.UUIDField(primary_key=True))])
    index = migrations.AddIndex("new", models.Index(fields=["id"], name="i"))

    assert expansion.breaches(_migration(new, index)) == []
