"""Whatever a person can do by a button can be done by a call of the API and by a command.

The table names both for every route of the console that changes something and for every action
of the admin; where one is missing, the reason stands in its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern
from drf_spectacular.generators import SchemaGenerator

from dashboard import urls
from operations.command_list import commands
from tenants.models import Membership
from tests.architecture import tree
from tests.factories import make_tenant


@dataclass(frozen=True)
class Doors:
    """The call and the command that do the same; ``why`` is said where one is missing."""

    call: str = ""
    command: str = ""
    why: str = ""


# Routes that answer GET, too, and change something by POST.
_PAGES_WITH_FORMS = {
    *(
        "login",
        "login_code",
        "task_new",
        "task_edit",
        "task_import",
        "calendar_new",
        "calendar_edit",
    ),
    "forecast_feed_new",
    *("workflow_new", "workflow_edit", "api_key_new", "api_key_edit", "invitation"),
    *("secret_new", "secret_edit", "alert_rule_new", "alert_rule_edit"),
    *("channel_new", "channel_edit", "maintenance_new"),
    *("event_subscription_new", "event_subscription_edit"),
}

_SESSION = "about this browser's session only; keys and commands have none"
_PERSON = "asks for a proof that a person has; keys are no persons"
_RUN = "/v1/workflow-runs/{run_id}"
_OFFER = "/v1/members/invitations/{invitation_id}"
_EVENTS_TO = "/v1/event-subscriptions/{event_subscription_id}"
_OWN_MACHINE = "a key of a tenant must not kill processes; the machine's administrator may"
_OWN_TENANT = "a key belongs to one tenant; the operator of the installation decides over tenants"

CONSOLE = {
    "login": Doors(why=_SESSION),
    "logout": Doors(why=_SESSION),
    "choose_tenant": Doors(why=_SESSION),
    "login_code": Doors(why=_SESSION),
    "account_password": Doors(why=_PERSON),
    "account_sessions_end": Doors(command="accounts end-sessions", why=_PERSON),
    "account_session_end": Doors(command="accounts end-sessions", why=_PERSON),
    "identity_unlink": Doors(command="accounts unlink", why=_PERSON),
    "second_factor_begin": Doors(why=_PERSON),
    "second_factor_confirm": Doors(why=_PERSON),
    "second_factor_codes": Doors(why=_PERSON),
    "second_factor_remove": Doors(command="accounts reset-second-factor", why=_PERSON),
    "task_new": Doors("POST /v1/tasks", "tasks create"),
    "task_edit": Doors("PUT /v1/tasks/{task_id}", "tasks edit"),
    "task_import": Doors("POST /v1/tasks/import", "tasks import"),
    # Of a task that is edited it shows the answer of POST /v1/tasks/{task_id}/preview.
    "schedule_preview": Doors("POST /v1/schedules/preview", "schedule preview"),
    "forecast_spread_create": Doors("POST /v1/forecast/spread", "schedule spread"),
    "task_test": Doors("POST /v1/tasks/test", "tasks test"),
    "task_pause": Doors("POST /v1/tasks/{task_id}/pause", "tasks pause"),
    "task_resume": Doors("POST /v1/tasks/{task_id}/resume", "tasks resume"),
    "task_run": Doors("POST /v1/tasks/{task_id}/run", "tasks run"),
    "task_cancel": Doors("POST /v1/tasks/{task_id}/cancel", "tasks cancel"),
    "task_delete": Doors("DELETE /v1/tasks/{task_id}", "tasks delete"),
    "task_erase": Doors("POST /v1/tasks/{task_id}/erase", "tasks erase"),
    "task_backfill_begin": Doors("POST /v1/tasks/{task_id}/backfill", "tasks backfill"),
    "task_rollback": Doors("POST /v1/tasks/{task_id}/rollback", "tasks rollback"),
    "workflow_new": Doors("POST /v1/workflows", "workflows create"),
    "workflow_edit": Doors("PUT /v1/workflows/{workflow_id}", "workflows edit"),
    "workflow_check": Doors(why="changes nothing; saving answers with the same errors"),
    "workflow_list": Doors(why="changes nothing but the form; saving sends the definition"),
    "workflow_start": Doors("POST /v1/workflows/{workflow_id}/runs", "workflows run"),
    "workflow_run_cancel": Doors(f"POST {_RUN}/cancel", "workflows cancel"),
    "workflow_run_pause": Doors(f"POST {_RUN}/pause", "workflows pause"),
    "workflow_run_resume": Doors(f"POST {_RUN}/resume", "workflows resume"),
    "workflow_run_retry": Doors(f"POST {_RUN}/retry", "workflows retry"),
    "workflow_step_skip": Doors(f"POST {_RUN}/steps/{{key}}/skip", "workflows skip"),
    "workflow_step_succeed": Doors(f"POST {_RUN}/steps/{{key}}/succeed", "workflows succeed"),
    "workflow_step_decide": Doors(f"POST {_RUN}/steps/{{key}}/approve", "workflows approve"),
    "execution_cancel": Doors("POST /v1/executions/{execution_id}/cancel", "executions cancel"),
    "execution_retry": Doors("POST /v1/executions/{execution_id}/retry", "executions retry"),
    "dead_letter_retry": Doors("POST /v1/dlq/{letter_id}/retry", "dlq retry"),
    "dead_letter_resolve": Doors("POST /v1/dlq/{letter_id}/resolve", "dlq resolve"),
    "dead_letter_archive": Doors("POST /v1/dlq/{letter_id}/archive", "dlq archive"),
    "dead_letter_purge": Doors("DELETE /v1/dlq/{letter_id}", "dlq purge"),
    # The kinds of bulk jobs have a call each; commands take filters or many ids.
    "bulk_create": Doors("POST /v1/dlq/actions", "dlq retry"),
    "bulk_job_cancel": Doors("POST /v1/bulk-jobs/{job_id}/cancel", "bulk cancel"),
    "pause_create": Doors("POST /v1/pauses", "pauses create"),
    "pause_end": Doors("POST /v1/pauses/{pause_id}/end", "pauses end"),
    "destination_limits": Doors("PATCH /v1/destinations/{host}", "destinations set"),
    "destination_reset": Doors("POST /v1/destinations/{host}/reset", "destinations reset"),
    "worker_wish": Doors("POST /v1/workers/actions", "workers quiet"),
    "pool_create": Doors("PATCH /v1/pools/{pool}", "pools set"),
    "pool_pause": Doors("PATCH /v1/pools/{pool}", "pools set"),
    "pool_resume": Doors("PATCH /v1/pools/{pool}", "pools set"),
    "pool_limit": Doors("PATCH /v1/pools/{pool}", "pools set"),
    "pool_delete": Doors("DELETE /v1/pools/{pool}", "pools delete"),
    "calendar_new": Doors("POST /v1/calendars", "calendars create"),
    "calendar_edit": Doors("PATCH /v1/calendars/{calendar_id}", "calendars edit"),
    "calendar_import": Doors("POST /v1/calendars/{calendar_id}/import", "calendars import"),
    "calendar_delete": Doors("DELETE /v1/calendars/{calendar_id}", "calendars delete"),
    "alert_rule_new": Doors("POST /v1/notification-rules", "rules create"),
    "alert_rule_edit": Doors("PATCH /v1/notification-rules/{rule_id}", "rules edit"),
    "alert_rule_delete": Doors("DELETE /v1/notification-rules/{rule_id}", "rules delete"),
    "maintenance_new": Doors("POST /v1/maintenance-windows", "maintenance create"),
    "maintenance_end": Doors("DELETE /v1/maintenance-windows/{window_id}", "maintenance end"),
    "secret_new": Doors("POST /v1/secrets", "secrets set"),
    "secret_edit": Doors("PATCH /v1/secrets/{name}", "secrets set"),
    "secret_remove": Doors("DELETE /v1/secrets/{name}", "secrets remove"),
    "alert_acknowledge": Doors("POST /v1/alerts/{alert_id}/acknowledge", "notify acknowledge"),
    "alert_assign": Doors("POST /v1/alerts/{alert_id}/assign", "notify assign"),
    "channel_new": Doors("POST /v1/channels", "channels create"),
    "channel_edit": Doors("PATCH /v1/channels/{channel_id}", "channels change"),
    "channel_test": Doors("POST /v1/channels/{channel_id}/test", "channels test"),
    "channel_remove": Doors("DELETE /v1/channels/{channel_id}", "channels remove"),
    "event_subscription_new": Doors("POST /v1/event-subscriptions", "subscriptions create"),
    "event_subscription_edit": Doors(f"PATCH {_EVENTS_TO}", "subscriptions change"),
    "event_subscription_test": Doors(f"POST {_EVENTS_TO}/test", "subscriptions test"),
    "event_subscription_pause": Doors(f"PATCH {_EVENTS_TO}", "subscriptions pause"),
    "event_subscription_resume": Doors(f"PATCH {_EVENTS_TO}", "subscriptions resume"),
    "event_subscription_redrive": Doors(f"POST {_EVENTS_TO}/redrive", "subscriptions redrive"),
    "event_subscription_remove": Doors(f"DELETE {_EVENTS_TO}", "subscriptions remove"),
    "alert_mute": Doors("POST /v1/alerts/{alert_id}/mute", "notify mute"),
    "settings_save": Doors("PATCH /v1/notification-preferences", "notify preferences"),
    "settings_tenant": Doors("PATCH /v1/me", "tenant set"),
    "settings_idempotency": Doors("PATCH /v1/me", "tenant set"),
    "settings_second_factor": Doors("PATCH /v1/me", "tenant set"),
    "settings_provider": Doors("PATCH /v1/me", "tenant set"),
    "settings_try": Doors(command="notify test", why="a key has no member whom it could reach"),
    "settings_confirm": Doors(why="the address is given anew, which asks it again"),
    "member_invite": Doors("POST /v1/members/invitations", "members invite"),
    "member_change": Doors("PATCH /v1/members/{member_id}", "members change"),
    "member_remove": Doors("DELETE /v1/members/{member_id}", "members remove"),
    "member_transfer": Doors("POST /v1/members/{member_id}/transfer", "members transfer"),
    "invitation_resend": Doors(f"POST {_OFFER}/resend", "members resend"),
    "invitation_withdraw": Doors(f"DELETE {_OFFER}", "members withdraw"),
    "invitation": Doors(why="only the person who got the message has its link"),
    "api_key_new": Doors("POST /v1/api-keys", "apikey create"),
    "api_key_edit": Doors("PATCH /v1/api-keys/{key_id}", "apikey edit"),
    "api_key_rotate": Doors("POST /v1/api-keys/{key_id}/rotate", "apikey rotate"),
    "encryption_key_rotate": Doors("POST /v1/encryption-keys/rotate", "keys rotate"),
    "forecast_feed_new": Doors("POST /v1/calendar-feeds", "feeds create"),
    "forecast_feed_revoke": Doors("DELETE /v1/calendar-feeds/{feed_id}", "feeds revoke"),
    "view_create": Doors("POST /v1/views", "views create"),
    "view_change": Doors("PATCH /v1/views/{view_id}", "views update"),
    "view_remove": Doors("DELETE /v1/views/{view_id}", "views remove"),
    "api_key_revoke": Doors("DELETE /v1/api-keys/{key_id}", "apikey revoke"),
    "demo_break": Doors(command="demo break", why=_OWN_MACHINE),
    "push_subscribe": Doors("POST /v1/push-subscriptions", why="only a browser has a subscription"),
    "push_unsubscribe": Doors("DELETE /v1/push-subscriptions/{subscription_id}", "notify browsers"),
}

ADMIN = {
    "tasks.task pause": CONSOLE["task_pause"],
    "tasks.task resume": CONSOLE["task_resume"],
    "tasks.task run": CONSOLE["task_run"],
    "tasks.task cancel": CONSOLE["task_cancel"],
    "tasks.pause end": CONSOLE["pause_end"],
    "executions.execution cancel": CONSOLE["execution_cancel"],
    "executions.execution retry": CONSOLE["execution_retry"],
    "executions.deadletter retry": CONSOLE["dead_letter_retry"],
    "executions.deadletter resolve": CONSOLE["dead_letter_resolve"],
    "executions.deadletter archive": CONSOLE["dead_letter_archive"],
    "tenants.apikey revoke": Doors("DELETE /v1/api-keys/{key_id}", "apikey revoke"),
    "tenants.tenant suspend": Doors(command="tenant suspend", why=_OWN_TENANT),
    "tenants.tenant resume": Doors(command="tenant resume", why=_OWN_TENANT),
}

TABLE = [*CONSOLE.items(), *ADMIN.items()]
_NAMES = [name for name, _ in TABLE]


@pytest.fixture(scope="module")
def calls() -> set[str]:
    paths: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    return {
        f"{method.upper()} {path}" for path, operations in paths.items() for method in operations
    }


@pytest.fixture(scope="module")
def verbs() -> set[str]:
    return {" ".join(door.words) for listed in commands() for door in listed.doors}


def _routes() -> dict[str, URLPattern]:
    return {str(route.name): route for route in urls.urlpatterns}


_FOR = {"<uuid": str(UUID(int=1)), "<int": "1"}


def _path(route: URLPattern) -> str:
    parts = str(route.pattern).split("/")
    return "/" + "/".join(_FOR.get(part.partition(":")[0], part) for part in parts)


@pytest.fixture
def owner(db: None) -> Client:
    user = User.objects.create_user("owner")
    Membership.objects.create(user=user, tenant=make_tenant(), role="owner")
    client = Client()
    client.force_login(user)
    return client


def test_every_route_that_only_takes_forms_is_in_the_table(owner):
    found = {
        name for name, route in _routes().items() if owner.get(_path(route)).status_code == 405
    }

    missing, left_over = found - set(CONSOLE), set(CONSOLE) - found - _PAGES_WITH_FORMS

    assert not missing, tree.report(sorted(missing))
    assert not left_over, tree.report(sorted(left_over))
    assert set(_routes()) >= _PAGES_WITH_FORMS


def test_every_action_of_the_admin_is_in_the_table():
    found = {
        f"{model._meta.label_lower} {action.__name__}"
        for model, door in admin.site._registry.items()
        for action in door.actions or ()
        if callable(action)
    }

    assert found == set(ADMIN)


@pytest.mark.parametrize(("name", "doors"), TABLE, ids=_NAMES)
def test_every_action_has_a_call_and_a_command_or_a_reason(name, doors, calls, verbs):
    if not doors.call or not doors.command:
        assert doors.why, f"{name} lacks a door and does not say why"
    assert not doors.call or doors.call in calls, f"{doors.call} is not in the API's document"
    assert not doors.command or doors.command in verbs, f"there is no {doors.command!r}"


def test_each_kind_of_bulk_job_has_its_call(calls):
    assert {f"POST /v1/{kind}/actions" for kind in ("dlq", "tasks", "executions")} <= calls
