"""``/v1/notification-rules``: which conditions open alerts, over which tasks."""

from __future__ import annotations

from typing import cast
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.alerts.rule_serializers import NewRule, RuleChange, RuleSerializer
from api.idempotency import idempotent
from api.protocol.pagination import LIST_PARAMETERS, paginate_numbers
from api.protocol.schema import list_answer
from api.protocol.views import PunctualView
from notifications.models import AlertRule
from notifications.presentation import present_rule
from notifications.services.rules import (
    RuleFields,
    create_rule,
    delete_rule,
    get_rule,
    list_rules,
    update_rule,
)


class NotificationRulesView(PunctualView):
    """The tenant's alert rules."""

    query_parameters = {"GET": LIST_PARAMETERS}

    @extend_schema(
        operation_id="list_notification_rules",
        responses=list_answer("notification_rules", RuleSerializer),
    )
    def get(self, request: Request) -> Response:
        """List the alert rules: the built-in ones by kind, then the tenant's own by name."""
        found = [present_rule(rule) for rule in list_rules(self.tenant_id)]
        page = paginate_numbers(
            len(found),
            self.query,
            key="notification_rules",
            read=lambda start, end: found[start:end],
        )
        return Response(page)

    @extend_schema(
        operation_id="create_notification_rule",
        request=NewRule,
        responses={201: RuleSerializer},
    )
    @idempotent(required=False)
    def post(self, request: Request) -> Response:
        """Make an alert rule.

        Of the rules of one kind that cover a task the narrowest judges it: that of the task, the
        workflow, a label, all tasks, then the built-in one; of several, the oldest.
        """
        given = cast(RuleFields, self.read_body(NewRule))
        made = create_rule(self.tenant_id, given, actor=self.actor)
        headers = {"Location": f"/v1/notification-rules/{made.id}", **_etag(made)}
        return Response(present_rule(made), status=201, headers=headers)


class NotificationRuleView(PunctualView):
    """One alert rule."""

    versioned = frozenset({"DELETE", "PATCH"})

    @extend_schema(operation_id="get_notification_rule", responses=RuleSerializer)
    def get(self, request: Request, rule_id: UUID) -> Response:
        """Show an alert rule."""
        return _answer(get_rule(self.tenant_id, rule_id))

    @extend_schema(
        operation_id="edit_notification_rule", request=RuleChange, responses=RuleSerializer
    )
    @idempotent(required=False)
    def patch(self, request: Request, rule_id: UUID) -> Response:
        """Change an alert rule; fields left out stay.

        Of a built-in rule the threshold, the window, `urgent` and `enabled` change. Open alerts of
        a rule that is switched off are closed without a message.
        """
        changed = update_rule(
            self.tenant_id,
            rule_id,
            cast(RuleFields, self.read_body(RuleChange)),
            actor=self.actor,
            expected_version=self.expected_version,
        )
        return _answer(changed)

    @extend_schema(operation_id="delete_notification_rule", request=None, responses={204: None})
    @idempotent(required=False)
    def delete(self, request: Request, rule_id: UUID) -> Response:
        """Delete an alert rule, and close its open alerts without a message.

        A built-in rule is 409 `built_in_rule`: switch it off instead.
        """
        delete_rule(
            self.tenant_id, rule_id, actor=self.actor, expected_version=self.expected_version
        )
        return Response(status=204)


def _answer(rule: AlertRule) -> Response:
    return Response(present_rule(rule), headers=_etag(rule))


def _etag(rule: AlertRule) -> dict[str, str]:
    return {"ETag": f'"{rule.version}"'}
