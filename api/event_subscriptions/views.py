"""``/v1/event-subscriptions``: admins decide where events are sent; each reader sees how far.

Reading needs ``read``, changing ``admin``.
"""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.event_subscriptions.serializers import (
    EventSubscriptionSerializer,
    EventTestSerializer,
    RedriveBody,
    SubscriptionChangeBody,
    SubscriptionCreateBody,
)
from api.executions.serializers import EmptyBody
from api.idempotency import idempotent, idempotent_outside
from api.protocol.pagination import LIST_PARAMETERS, paginate
from api.protocol.schema import list_answer
from api.protocol.views import PunctualView
from notifications.event_webhooks.trial import send_test_event
from notifications.models import EventSubscription
from notifications.services import event_subscriptions as services


class _SubscriptionsView(PunctualView):
    """A view of subscriptions; each change needs ``admin``."""

    scopes = {"GET": "read", "POST": "admin", "PATCH": "admin", "DELETE": "admin"}
    takes_secrets = True


class EventSubscriptionsView(_SubscriptionsView):
    """The tenant's event subscriptions."""

    query_parameters = {"GET": LIST_PARAMETERS}

    @extend_schema(
        operation_id="list_event_subscriptions",
        responses=list_answer("event_subscriptions", EventSubscriptionSerializer),
    )
    def get(self, request: Request) -> Response:
        """List the subscriptions, newest first."""
        return Response(
            paginate(
                services.list_subscriptions(self.tenant_id),
                self.query,
                key="event_subscriptions",
                serialize=services.present_subscription,
            )
        )

    @extend_schema(
        operation_id="create_event_subscription",
        request=SubscriptionCreateBody,
        responses={201: EventSubscriptionSerializer},
    )
    @idempotent(required=False)
    def post(self, request: Request) -> Response:
        """Send events from now on to a URL, each as a webhook of its own, in their order.

        Webhooks are signed with the tenant's signing secrets; `webhook-id` is the event's id, and
        the same when an event is sent again. The next event is sent after the receiver answered
        2xx. 409 `too_many_subscriptions` beyond 20.
        """
        body = self.read_body(SubscriptionCreateBody)
        made = services.create_subscription(self.tenant_id, **body, actor=self.actor)
        headers = {"Location": f"/v1/event-subscriptions/{made.id}", **_etag(made)}
        return Response(services.present_subscription(made), status=201, headers=headers)


class EventSubscriptionView(_SubscriptionsView):
    """One event subscription."""

    versioned = frozenset({"PATCH"})

    @extend_schema(operation_id="get_event_subscription", responses=EventSubscriptionSerializer)
    def get(self, request: Request, event_subscription_id: UUID) -> Response:
        """Show a subscription, how far it is, and what its receiver answered last."""
        return _answer(services.get_subscription(self.tenant_id, event_subscription_id))

    @extend_schema(
        operation_id="change_event_subscription",
        request=SubscriptionChangeBody,
        responses=EventSubscriptionSerializer,
    )
    @idempotent(required=False)
    def patch(self, request: Request, event_subscription_id: UUID) -> Response:
        """Change the URL, types or filter; pause it with `PAUSED`, resume it with `ACTIVE`.

        A resumed subscription continues where it was; nothing is skipped.
        """
        changed = services.change_subscription(
            self.tenant_id,
            event_subscription_id,
            self.read_body(SubscriptionChangeBody),
            actor=self.actor,
            expected_version=self.expected_version,
        )
        return _answer(changed)

    @extend_schema(operation_id="remove_event_subscription", request=None, responses={204: None})
    @idempotent(required=False)
    def delete(self, request: Request, event_subscription_id: UUID) -> Response:
        """Remove a subscription."""
        services.remove_subscription(self.tenant_id, event_subscription_id, actor=self.actor)
        return Response(status=204)


class RedriveEventSubscriptionView(_SubscriptionsView):
    """Send events of a subscription again."""

    problems = {
        410: "The events after this cursor are kept no longer; `detail` says where to begin."
    }

    @extend_schema(
        operation_id="redrive_event_subscription",
        request=RedriveBody,
        responses=EventSubscriptionSerializer,
    )
    @idempotent(required=False)
    def post(self, request: Request, event_subscription_id: UUID) -> Response:
        """Send the events from a cursor or a time on, with the same ids, and resume."""
        body = self.read_body(RedriveBody)
        moved = services.redrive_subscription(
            self.tenant_id,
            event_subscription_id,
            after=body.get("after"),
            since=body.get("since"),
            actor=self.actor,
        )
        return _answer(moved)


class TestEventSubscriptionView(_SubscriptionsView):
    """Test an event subscription."""

    receipt = frozenset({"taken", "status"})

    @extend_schema(
        operation_id="test_event_subscription", request=EmptyBody, responses=EventTestSerializer
    )
    @idempotent_outside
    def post(self, request: Request, event_subscription_id: UUID) -> Response:
        """Send an event of the type `test` now, signed like all, and show the real answer.

        The place of the subscription does not move, and a paused one can be tested. At most five
        within ten minutes for each subscription.
        """
        self.read_body(EmptyBody)
        trial = send_test_event(self.tenant_id, event_subscription_id, actor=self.actor)
        return Response(
            {"taken": trial.taken, "status": trial.status, "error": trial.error or None}
        )


def _answer(subscription: EventSubscription) -> Response:
    shown = services.present_subscription(subscription)
    return Response(shown, headers=_etag(subscription))


def _etag(subscription: EventSubscription) -> dict[str, str]:
    return {"ETag": f'"{subscription.version}"'}
