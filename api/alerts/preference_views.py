"""``/v1/notification-preferences``, ``/v1/push-subscriptions`` and ``/v1/push-key``.

Keys belong to tenants, not to members, so a call names the member; changes need ``admin``.
"""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework.request import Request
from rest_framework.response import Response

from api.alerts.serializers import (
    NewPushSubscription,
    PreferenceChange,
    PreferenceSerializer,
    PushKey,
    PushSubscriptionSerializer,
)
from api.idempotency import idempotent
from api.protocol.pagination import LIST_PARAMETERS, paginate
from api.protocol.schema import list_answer
from api.protocol.views import PunctualView
from notifications.models import PushSubscription
from notifications.presentation import present_preference, present_subscription
from notifications.services.preferences import (
    get_membership,
    list_preferences,
    update_preference,
)
from notifications.services.push_subscriptions import subscribe, unsubscribe
from notifications.transports.vapid import public_key
from shared.exceptions import FieldError, InvalidInput, NotFound

_ADMIN = {"GET": "admin", "POST": "admin", "PATCH": "admin", "DELETE": "admin"}


class NotificationPreferencesView(PunctualView):
    """The notification preferences of the tenant's members."""

    scopes = _ADMIN
    seen_with = "admin"

    @extend_schema(
        operation_id="list_notification_preferences",
        responses=inline_serializer(
            "NotificationPreferences",
            {"notification_preferences": PreferenceSerializer(many=True)},
        ),
    )
    def get(self, request: Request) -> Response:
        """List the preference of every member, with the defaults where nothing was chosen."""
        found = list_preferences(self.tenant_id)
        return Response({"notification_preferences": [present_preference(row) for row in found]})

    @extend_schema(
        operation_id="change_notification_preference",
        request=PreferenceChange,
        responses=PreferenceSerializer,
    )
    @idempotent(required=False)
    def patch(self, request: Request) -> Response:
        """Change the preference of the member named in the body."""
        wanted = self.read_body(PreferenceChange)
        member = _known_member(self.tenant_id, wanted.pop("member"))
        changed = update_preference(self.tenant_id, member, wanted, actor=self.actor)
        return Response(present_preference(changed))


class PushSubscriptionsView(PunctualView):
    """Browsers that take pushes."""

    scopes = _ADMIN
    seen_with = "admin"
    query_parameters = {"GET": LIST_PARAMETERS}

    @extend_schema(
        operation_id="list_push_subscriptions",
        responses=list_answer("push_subscriptions", PushSubscriptionSerializer),
    )
    def get(self, request: Request) -> Response:
        """List the browsers of the tenant's members, newest first."""
        found = PushSubscription.objects.filter(membership__tenant_id=self.tenant_id)
        return Response(
            paginate(found, self.query, key="push_subscriptions", serialize=present_subscription)
        )

    @extend_schema(
        operation_id="create_push_subscription",
        request=NewPushSubscription,
        responses={201: PushSubscriptionSerializer},
    )
    @idempotent(required=False)
    def post(self, request: Request) -> Response:
        """Add a browser of the member named in the body; a known one gets its new keys."""
        wanted = self.read_body(NewPushSubscription)
        made = subscribe(
            self.tenant_id,
            _known_member(self.tenant_id, wanted["member"]),
            endpoint=wanted["endpoint"],
            user_agent=wanted["user_agent"],
            actor=self.actor,
            **wanted["keys"],
        )
        return Response(present_subscription(made), status=201)


class PushSubscriptionView(PunctualView):
    """One browser."""

    scopes = _ADMIN
    seen_with = "admin"

    @extend_schema(operation_id="delete_push_subscription", request=None, responses={204: None})
    @idempotent(required=False)
    def delete(self, request: Request, subscription_id: UUID) -> Response:
        """Remove a browser."""
        unsubscribe(self.tenant_id, subscription_id, actor=self.actor)
        return Response(status=204)


class PushKeyView(PunctualView):
    """The key that browsers subscribe with."""

    @extend_schema(operation_id="get_push_key", responses=PushKey)
    def get(self, request: Request) -> Response:
        """Show the public key for `PushManager.subscribe`."""
        return Response({"public_key": public_key() or None})


def _known_member(tenant_id: UUID, member_id: int) -> int:
    """Return the member's id; an unknown member is a bad field of the body, not a bad path."""
    try:
        return get_membership(tenant_id, member_id).pk
    except NotFound as error:
        field = FieldError("#/member", "member_unknown", error.message)
        raise InvalidInput([field], error.message) from error
