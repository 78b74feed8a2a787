"""Every call of the API, and what it needs: the table that the tests of access go through.

A call stands here more than once where a part of its body needs more than the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.access.alert_operations import of_alerts
from tests.access.rights import Rights
from tests.access.view_operations import of_feeds, of_secrets, of_views
from tests.access.world import ENDPOINT, PUSH_KEYS, Caller, World, filled
from tests.factories import once
from tests.support.calendars import ICAL

_TASK = "/v1/tasks/{task_id}"
_CALENDAR = "/v1/calendars/{calendar_id}"
_LETTER = "/v1/dlq/{letter_id}"
_FLOW = "/v1/workflows/{workflow_id}"
_RUN = "/v1/workflow-runs/{run_id}"
_ONE = "/v1/members/{member}"
_OWNER = "/v1/members/{owner_member}"
_OFFERS = "/v1/members/invitations"
_OFFER = {"email": "new@example.com", "role": "viewer"}
_EVENTS_TO = "/v1/event-subscriptions/{event_subscription_id}"
_NEW = once(name="new", payload={"new": True})
_NEW_FLOW = {"name": "new", "steps": [{"key": "a", "kind": "approval"}]}
_DRY = {"dry_run": True}
_KEY = {"name": "made", "scopes": ["read"]}
_PUSH = {"endpoint": ENDPOINT, "keys": PUSH_KEYS}
_MEMBER = {"member": "{member}"}  # Only the world knows its number.
#: Around whenever the world was made.
_ALWAYS = {"since": "2020-01-01T00:00:00Z", "until": "2100-01-01T00:00:00Z"}
_YESTERDAY = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-02T00:00:00Z"}


@dataclass(frozen=True)
class Operation:
    """A call, the rights that it needs, and what another tenant's key is answered."""

    name: str
    call: str
    needs: frozenset[str]
    body: Any = None
    owner: bool = False  #: Only an owner's key may make it.
    #: A key that expires may not make it.
    not_by_expiring: bool = False
    #: The answer to another tenant's key; None: as to the tenant's own keys, about Beta's rows.
    foreign: int | None = 404
    #: The scope that may see what a change answers.
    seen_with: str = "read"
    #: About the installation: refused to every key while processes are not public.
    of_operators: bool = False
    #: Its answer is a payload: refused without the right to see them.
    shows_payload: bool = False

    @property
    def method(self) -> str:
        return self.call.split()[0]

    @property
    def is_change(self) -> bool:
        return self.method != "GET" and "read" not in self.needs

    @property
    def has_checks_inside(self) -> bool:
        """Return whether the call needs more than the one scope of its route."""
        return self.owner or self.not_by_expiring or len(self.needs) > 1

    def answer(self, caller: Rights) -> int:
        """Return the status that the caller is answered; 200 stands for any success."""
        if caller.refused_with:
            return caller.refused_with
        if caller.foreign and self.foreign == 404 and self.needs <= caller.scopes:
            # Also where it lacks an owner's rights: they are compared with the row.
            return 404
        if not self.permits(caller):
            return 403
        return (self.foreign or 200) if caller.foreign else 200

    def permits(self, caller: Rights) -> bool:
        """Return whether the caller's rights suffice, whosever rows it names."""
        if caller.refused_with or not self.needs <= caller.scopes:
            return False
        if self.of_operators or (self.owner and not caller.owner):
            return False
        if self.shows_payload and caller.blind:
            return False
        return not (self.not_by_expiring and caller.expires)

    def ask(self, world: World, caller: Caller, key: str | None, **headers: str) -> Any:
        """Make the call about the world's rows; ``key`` is the Idempotency-Key."""
        method, template = self.call.split()
        sent = self.filled(world, caller)
        if key is not None:
            headers["idempotency_key"] = key
        return caller.client.call(method, world.path(template), sent, **headers)

    def filled(self, world: World, caller: Caller) -> Any:
        """Return the body with the world's ids."""
        own = caller.member or world.ids["member"]
        return filled(self.body, {**world.ids, "own_member": own})


def _op(name: str, call: str, *needs: str, **parts: Any) -> Operation:
    if "{" not in call:
        parts.setdefault("foreign", None)
    return Operation(name, call, frozenset(needs), **parts)


def _many(kind: str, action: str, *more: str, **parts: Any) -> Operation:
    """Return a bulk action over all rows; a stranger has none that match."""
    name = "act_on_dead_letters" if kind == "dlq" else f"act_on_{kind}"
    sent = {"action": action, "filter": {}, **parts}
    foreign = None if "dry_run" in parts else 400
    return _op(name, f"POST /v1/{kind}/actions", "operate", *more, body=sent, foreign=foreign)


OPERATIONS: tuple[Operation, ...] = (
    # tasks
    _op("list_tasks", "GET /v1/tasks", "read"),
    _op("create_task", "POST /v1/tasks", "write", body=_NEW),
    _op("create_tasks", "POST /v1/tasks/bulk", "write", body={"tasks": [_NEW]}),
    _op(
        "import_tasks",
        "POST /v1/tasks/import",
        "write",
        body={"crontab": "0 2 * * * made\n", "url": "https://example.com/made"},
    ),
    _op("get_task", f"GET {_TASK}", "read"),
    _op("edit_task", f"PATCH {_TASK}", "write", body={}),
    _op("edit_task", f"PATCH {_TASK}", "write", "operate", body={"status": "PAUSED"}),
    _op("edit_task", f"PATCH {_TASK}", "write", "operate", body={"status": "SCHEDULED"}),
    _op("edit_task", f"PATCH {_TASK}", "write", body={"priority": 3}),
    _op("replace_task", f"PUT {_TASK}", "write", body={**_NEW, "priority": 7}),
    _op("delete_task", f"DELETE {_TASK}", "write"),
    _op("delete_task", f"DELETE {_TASK}?cancel_running=true", "write", "operate"),
    _op("pause_task", f"POST {_TASK}/pause", "operate", body={}),
    _op("resume_task", f"POST {_TASK}/resume", "operate", body={}),
    _op("cancel_task", f"POST {_TASK}/cancel", "operate", body={}),
    _op("run_task", f"POST {_TASK}/run", "operate", body={}),
    _op("backfill_task", f"POST {_TASK}/backfill", "operate", body=_YESTERDAY),
    _op("backfill_task", f"POST {_TASK}/backfill", "operate", body={**_YESTERDAY, **_DRY}),
    _op("rollback_task", f"POST {_TASK}/rollback", "write", body={"version": 1}),
    _op("clone_task", f"POST {_TASK}/clone", "write", body={"name": "clone"}),
    _op("test_task", f"POST {_TASK}/test", "write", body={}),
    _op("test_definition", "POST /v1/tasks/test", "write", body=_NEW),
    _op("preview_edit", f"POST {_TASK}/preview", "read", body={}),
    _op(
        "preview_schedule",
        "POST /v1/schedules/preview",
        "read",
        body={"schedule": {"every": "PT1H"}},
    ),
    _op("list_task_executions", f"GET {_TASK}/executions", "read"),
    _op("list_task_revisions", f"GET {_TASK}/revisions", "read"),
    _op("list_occurrences", f"GET {_TASK}/occurrences", "read"),
    _op("get_task_statistics", f"GET {_TASK}/statistics", "read"),
    _op("get_task_calendar", f"GET {_TASK}/calendar", "read"),
    _op("erase_task", f"POST {_TASK}/erase", "admin", body={"reason": "asked"}, seen_with="admin"),
    _op("list_erasures", "GET /v1/erasures", "admin"),
    _op("get_erasure", "GET /v1/erasures/{erasure_id}", "admin"),
    _op("explain_task", f"GET {_TASK}/explain", "read"),
    _many("tasks", "pause"),
    _many("tasks", "run"),
    _many("tasks", "cancel", **_DRY),
    _many("tasks", "set", "write", set={"priority": 3}),
    _many("tasks", "delete", "write"),
    _many("tasks", "delete", "write", **_DRY),
    _op("list_zone_moves", "GET /v1/zone-moves", "read"),
    # workflows
    _op("list_workflows", "GET /v1/workflows", "read"),
    _op("create_workflow", "POST /v1/workflows", "write", body=_NEW_FLOW),
    _op("get_workflow", f"GET {_FLOW}", "read"),
    _op("edit_workflow", f"PATCH {_FLOW}", "write", body={"priority": 3}),
    _op("edit_workflow", f"PATCH {_FLOW}", "write", "operate", body={"status": "PAUSED"}),
    _op("replace_workflow", f"PUT {_FLOW}", "write", body=_NEW_FLOW),
    _op("delete_workflow", f"DELETE {_FLOW}", "write"),
    _op("delete_workflow", f"DELETE {_FLOW}?cancel_running=true", "write", "operate"),
    _op("pause_workflow", f"POST {_FLOW}/pause", "operate", body={}),
    _op("resume_workflow", f"POST {_FLOW}/resume", "operate", body={}),
    _op("cancel_workflow", f"POST {_FLOW}/cancel", "operate", body={}),
    _op("backfill_workflow", f"POST {_FLOW}/backfill", "operate", body=_YESTERDAY),
    _op("rollback_workflow", f"POST {_FLOW}/rollback", "write", body={"version": 1}),
    _op("list_workflow_revisions", f"GET {_FLOW}/revisions", "read"),
    _op("list_workflow_occurrences", f"GET {_FLOW}/occurrences", "read"),
    _op("explain_workflow", f"GET {_FLOW}/explain", "read"),
    _op("send_signal", "POST /v1/signals", "operate", body={"name": "paid"}),
    _op("list_workflow_runs", f"GET {_FLOW}/runs", "read"),
    _op("start_workflow_run", f"POST {_FLOW}/runs", "operate", body={"input": {"n": 1}}),
    _op("get_workflow_status", f"GET {_FLOW}/status", "read"),
    _op("get_workflow_run", f"GET {_RUN}", "read"),
    _op("list_run_step_items", f"GET {_RUN}/steps/each/items", "read"),
    _op("cancel_workflow_run", f"POST {_RUN}/cancel", "operate", body={"scope": "all"}),
    _op("pause_workflow_run", f"POST {_RUN}/pause", "operate", body={}),
    _op("resume_workflow_run", f"POST {_RUN}/resume", "operate", body={}),
    _op(
        "retry_workflow_run",
        "POST /v1/workflow-runs/{failed_run_id}/retry",
        "operate",
        body={"from": "failed"},
    ),
    _op("skip_run_step", f"POST {_RUN}/steps/after/skip", "operate", body={}),
    _op("succeed_run_step", f"POST {_RUN}/steps/after/succeed", "operate", body={"output": 1}),
    _op(
        "approve_run_step",
        f"POST {_RUN}/steps/ok/approve",
        "operate",
        body={"approved": True, "take": 1},
    ),
    # executions
    _op("list_executions", "GET /v1/executions", "read"),
    _op("get_execution", "GET /v1/executions/{ended_id}", "read"),
    _op("get_execution_log", "GET /v1/executions/{ended_id}/log", "read", shows_payload=True),
    _op("explain_execution", "GET /v1/executions/{execution_id}/explain", "read"),
    _op("cancel_execution", "POST /v1/executions/{execution_id}/cancel", "operate", body={}),
    _op("retry_execution", "POST /v1/executions/{ended_id}/retry", "operate", body={}),
    _op(
        "replay_executions",
        "POST /v1/executions/replay",
        "operate",
        body={"filter": _ALWAYS},
        foreign=400,
    ),
    _op(
        "replay_executions",
        "POST /v1/executions/replay",
        "operate",
        "write",
        body={"filter": _ALWAYS, "into": {"url": "https://staging.example.com/in"}},
        foreign=400,
    ),
    _op(
        "replay_executions",
        "POST /v1/executions/replay",
        "operate",
        "write",
        body={"filter": _ALWAYS, "into": {"pool": "staging"}, **_DRY},
        foreign=200,
    ),
    _many("executions", "cancel"),
    _many("executions", "retry", **_DRY),
    # dead letters
    _op("list_dead_letters", "GET /v1/dlq", "read"),
    _op("get_dead_letter", f"GET {_LETTER}", "read"),
    _op("retry_dead_letter", f"POST {_LETTER}/retry", "operate", body={}),
    _op("resolve_dead_letter", f"POST {_LETTER}/resolve", "operate", body={"resolution": "fixed"}),
    _op("archive_dead_letter", f"POST {_LETTER}/archive", "operate", body={}),
    _op("purge_dead_letter", f"DELETE {_LETTER}", "operate"),
    _many("dlq", "archive"),
    _many("dlq", "purge", **_DRY),
    # bulk jobs, pauses
    _op("list_bulk_jobs", "GET /v1/bulk-jobs", "read"),
    _op("get_bulk_job", "GET /v1/bulk-jobs/{job_id}", "read"),
    _op("cancel_bulk_job", "POST /v1/bulk-jobs/{job_id}/cancel", "operate", body={}),
    _op("list_pauses", "GET /v1/pauses", "read"),
    _op("get_pause", "GET /v1/pauses/{pause_id}", "read"),
    _op("create_pause", "POST /v1/pauses", "operate", body={"scope": "tenant"}),
    _op("create_pause", "POST /v1/pauses", "operate", body={"scope": "tenant", **_DRY}),
    _op("end_pause", "POST /v1/pauses/{pause_id}/end", "operate", body={}),
    # named secrets and saved views
    *of_secrets(_op),
    *of_views(_op),
    *of_feeds(_op),
    # calendars, forecast
    _op("list_calendars", "GET /v1/calendars", "read"),
    _op("create_calendar", "POST /v1/calendars", "write", body={"name": "made"}),
    _op("get_calendar", f"GET {_CALENDAR}", "read"),
    _op("edit_calendar", f"PATCH {_CALENDAR}", "write", body={}),
    _op("edit_calendar", f"PATCH {_CALENDAR}", "write", body={"dates": []}),
    _op("import_calendar", f"POST {_CALENDAR}/import", "write", body={"ical": ICAL}),
    _op("delete_calendar", f"DELETE {_CALENDAR}", "write"),
    _op("get_forecast", "GET /v1/forecast", "read"),
    _op("get_month", "GET /v1/forecast/month", "read"),
    _op("spread_minute", "POST /v1/forecast/spread", "write", body={"at": "{at}"}, foreign=400),
    _op("spread_minute", "POST /v1/forecast/spread", "write", body={"at": "{at}", **_DRY}),
    # pools, destinations, workers
    _op("list_pools", "GET /v1/pools", "read"),
    _op("get_pool", "GET /v1/pools/{pool}", "read"),
    _op("change_pool", "PATCH /v1/pools/{pool}", "operate", body={}, foreign=200),
    _op("change_pool", "PATCH /v1/pools/{pool}", "operate", body={"paused": True}, foreign=200),
    _op("delete_pool", "DELETE /v1/pools/{pool}", "operate"),
    _op(
        "lease_executions",
        "POST /v1/pools/{pool}/lease",
        "worker",
        body={"worker": "w"},
        foreign=200,
        seen_with="worker",
    ),
    _op("list_concurrency_keys", "GET /v1/concurrency-keys", "read"),
    _op("list_destinations", "GET /v1/destinations", "read"),
    _op("get_destination", "GET /v1/destinations/{host}", "read"),
    _op("change_destination", "PATCH /v1/destinations/{host}", "operate", body={}),
    _op(
        "change_destination",
        "PATCH /v1/destinations/{host}",
        "operate",
        body={"max_in_flight": 5},
        foreign=200,
    ),
    _op("reset_destination", "POST /v1/destinations/{host}/reset", "operate", body={}),
    _op("list_workers", "GET /v1/workers", "read"),
    _op("get_worker_history", "GET /v1/workers/{worker_id}/history", "read"),
    _op("list_earlier_workers", "GET /v1/workers/earlier", "read"),
    _op("list_schedulers", "GET /v1/schedulers", "read"),
    _op(
        "act_on_workers",
        "POST /v1/workers/actions",
        "admin",
        body={"action": "quiet", "pool": "default"},
        of_operators=True,
    ),
    _op("list_takeovers", "GET /v1/takeovers", "read", of_operators=True),
    _op("get_support_bundle", "GET /v1/support-bundle", "read", of_operators=True),
    _op("get_overview", "GET /v1/overview", "read"),
    _op("get_shares", "GET /v1/shares", "read"),
    _op("get_objectives", "GET /v1/objectives", "read"),
    _op("get_usage", "GET /v1/usage", "read"),
    _op("get_usage", "GET /v1/usage?format=csv", "read"),
    _op("get_throughput", "GET /v1/stats/throughput", "read"),
    _op("get_receiver", "GET /v1/receiver", "read"),
    _op("list_received_requests", "GET /v1/receiver/requests", "read", shows_payload=True),
    _op("forget_received_requests", "DELETE /v1/receiver/requests", "operate"),
    # alerts and who is told
    *of_alerts(_op),
    _op("list_push_subscriptions", "GET /v1/push-subscriptions", "admin"),
    _op(
        "create_push_subscription",
        "POST /v1/push-subscriptions",
        "admin",
        body={**_MEMBER, **_PUSH},
        foreign=400,
        seen_with="admin",
    ),
    # The browser that another member has already: nobody loses it.
    _op(
        "create_push_subscription",
        "POST /v1/push-subscriptions",
        "admin",
        body={"member": "{own_member}", **_PUSH},
        seen_with="admin",
    ),
    _op(
        "delete_push_subscription",
        "DELETE /v1/push-subscriptions/{subscription_id}",
        "admin",
    ),
    _op("get_push_key", "GET /v1/push-key", "read"),
    _op("create_ws_ticket", "POST /v1/ws-tickets", "read"),
    # the tenant, its keys and secrets
    _op("get_me", "GET /v1/me"),
    _op("edit_me", "PATCH /v1/me", "admin", body={}, seen_with="admin"),
    _op(
        "edit_me",
        "PATCH /v1/me",
        "admin",
        body={"idempotency_required": True},
        seen_with="admin",
    ),
    _op("get_quotas", "GET /v1/quotas", "read"),
    _op(
        "edit_me",
        "PATCH /v1/me",
        "admin",
        body={"second_factor_required": True},
        owner=True,
        seen_with="admin",
    ),
    _op(
        "edit_me",
        "PATCH /v1/me",
        "admin",
        body={"provider_required": False},
        owner=True,
        seen_with="admin",
    ),
    _op("list_api_keys", "GET /v1/api-keys", "admin"),
    _op("get_api_key", "GET /v1/api-keys/{key_id}", "admin"),
    _op(
        "create_api_key",
        "POST /v1/api-keys",
        "admin",
        "read",
        body=_KEY,
        not_by_expiring=True,
        seen_with="admin",
    ),
    _op(
        "create_api_key",
        "POST /v1/api-keys",
        "admin",
        "read",
        "write",
        body={**_KEY, "scopes": ["read", "write"]},
        not_by_expiring=True,
        seen_with="admin",
    ),
    _op(
        "create_api_key",
        "POST /v1/api-keys",
        "admin",
        "read",
        body={**_KEY, "owner": True},
        owner=True,
        not_by_expiring=True,
        seen_with="admin",
    ),
    # A caller changes only keys that may do no more than itself: the world's keys may read.
    _op(
        "create_api_key",
        "POST /v1/api-keys",
        "admin",
        "read",
        body={**_KEY, "addresses": ["127.0.0.1"]},
        not_by_expiring=True,
        seen_with="admin",
    ),
    _op(
        "edit_api_key",
        "PATCH /v1/api-keys/{key_id}",
        "admin",
        "read",
        body={"name": "x"},
        seen_with="admin",
    ),
    _op(
        "edit_api_key",
        "PATCH /v1/api-keys/{key_id}",
        "admin",
        "read",
        "write",
        body={"scopes": ["read", "write"]},
        not_by_expiring=True,
        seen_with="admin",
    ),
    _op(
        "edit_api_key",
        "PATCH /v1/api-keys/{owner_key_id}",
        "admin",
        "read",
        body={"addresses": ["127.0.0.1"]},
        owner=True,
        seen_with="admin",
    ),
    _op(
        "rotate_api_key",
        "POST /v1/api-keys/{key_id}/rotate",
        "admin",
        "read",
        body={},
        not_by_expiring=True,
        seen_with="admin",
    ),
    _op(
        "rotate_api_key",
        "POST /v1/api-keys/{owner_key_id}/rotate",
        "admin",
        "read",
        body={"overlap_seconds": 0},
        owner=True,
        not_by_expiring=True,
        seen_with="admin",
    ),
    _op("revoke_api_key", "DELETE /v1/api-keys/{key_id}", "admin", "read"),
    _op("revoke_api_key", "DELETE /v1/api-keys/{owner_key_id}", "admin", "read", owner=True),
    # members and invitations
    _op("list_members", "GET /v1/members", "admin"),
    _op("get_member", f"GET {_ONE}", "admin"),
    _op(
        "change_member",
        f"PATCH {_ONE}",
        "admin",
        body={"role": "operator"},
        seen_with="admin",
        not_by_expiring=True,
    ),
    _op(
        "change_member",
        f"PATCH {_ONE}",
        "admin",
        body={"sees_payloads": False, "role": "viewer"},
        seen_with="admin",
        not_by_expiring=True,
    ),
    _op(
        "change_member",
        f"PATCH {_ONE}",
        "admin",
        body={"role": "owner"},
        owner=True,
        seen_with="admin",
        not_by_expiring=True,
    ),
    _op(
        "change_member",
        f"PATCH {_OWNER}",
        "admin",
        body={"role": "admin"},
        owner=True,
        seen_with="admin",
        not_by_expiring=True,
    ),
    _op("remove_member", f"DELETE {_ONE}", "admin", not_by_expiring=True),
    _op("remove_member", f"DELETE {_OWNER}", "admin", owner=True, not_by_expiring=True),
    _op(
        "transfer_ownership",
        f"POST {_ONE}/transfer",
        "admin",
        body={"from": "{owner_member}"},
        owner=True,
        seen_with="admin",
        not_by_expiring=True,
    ),
    _op("list_invitations", f"GET {_OFFERS}", "admin"),
    _op(
        "invite_member",
        f"POST {_OFFERS}",
        "admin",
        body=_OFFER,
        seen_with="admin",
        not_by_expiring=True,
    ),
    _op(
        "invite_member",
        f"POST {_OFFERS}",
        "admin",
        body={**_OFFER, "role": "owner"},
        owner=True,
        seen_with="admin",
        not_by_expiring=True,
    ),
    _op("get_invitation", f"GET {_OFFERS}/{{invitation_id}}", "admin"),
    _op(
        "resend_invitation",
        f"POST {_OFFERS}/{{invitation_id}}/resend",
        "admin",
        seen_with="admin",
        not_by_expiring=True,
    ),
    _op(
        "withdraw_invitation", f"DELETE {_OFFERS}/{{invitation_id}}", "admin", not_by_expiring=True
    ),
    _op("list_signing_secrets", "GET /v1/signing-secrets", "admin"),
    _op("list_encryption_keys", "GET /v1/encryption-keys", "admin"),
    _op(
        "rotate_encryption_key",
        "POST /v1/encryption-keys/rotate",
        "admin",
        owner=True,
        seen_with="admin",
    ),
    _op("list_events", "GET /v1/events", "read"),
    _op("list_event_subscriptions", "GET /v1/event-subscriptions", "read"),
    _op(
        "create_event_subscription",
        "POST /v1/event-subscriptions",
        "admin",
        body={"url": "https://events.example.com/made", "types": ["execution.failed"]},
    ),
    _op("get_event_subscription", f"GET {_EVENTS_TO}", "read"),
    _op("change_event_subscription", f"PATCH {_EVENTS_TO}", "admin", body={"status": "PAUSED"}),
    _op(
        "redrive_event_subscription",
        f"POST {_EVENTS_TO}/redrive",
        "admin",
        body={"since": "2020-01-01T00:00:00Z"},
    ),
    _op("test_event_subscription", f"POST {_EVENTS_TO}/test", "admin", body={}),
    _op("remove_event_subscription", f"DELETE {_EVENTS_TO}", "admin"),
    _op("list_audit_entries", "GET /v1/audit", "admin"),
    _op("get_audit_entry", "GET /v1/audit/{entry_id}", "admin"),
    _op("list_signing_secrets", "GET /v1/signing-secrets?reveal=true", "admin", owner=True),
    _op(
        "rotate_signing_secret",
        "POST /v1/signing-secrets/rotate",
        "admin",
        body={},
        owner=True,
        seen_with="admin",
    ),
)

_SENT = {"heartbeat": {"progress": {"n": 1}}, "complete": {}, "fail": {"error": "x"}, "release": {}}
#: What the execution's own token allows, and nothing else does.
BY_TOKEN: tuple[Operation, ...] = tuple(
    _op(f"{verb}_execution", f"POST /v1/executions/{{running_id}}/{verb}", body=sent)
    for verb, sent in _SENT.items()
)
