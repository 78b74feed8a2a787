"""Every page and form of the console, and what each kind of visitor is answered.

The table that the test of the console's access goes through: a route that is not in it fails.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tenants.choices import Role

#: What a visitor is answered. GONE: 404, or for a form a message that there is no such thing.
TAKEN, LOGIN, ENROL, REFUSED, NO_METHOD, GONE = "taken", "login", "enrol", "403", "405", "404"
#: A list of nothing, where a page asks beside its own content.
EMPTY = "empty"
METHODS = ("GET", "POST")


@dataclass(frozen=True, kw_only=True)
class Visit:
    """What stands behind a kind of visitor's session."""

    role: Role | None = None
    #: The answer to all that needs a role.
    turned_to: str = ""
    foreign: bool = False
    #: Without the right to see payloads.
    blind: bool = False


#: Kind of visitor -> what stands behind the session.
VISITORS: dict[str, Visit] = {
    "no session": Visit(turned_to=LOGIN),
    "an ended session": Visit(turned_to=LOGIN),
    "an idle session": Visit(turned_to=LOGIN),
    "an account that is not active": Visit(turned_to=LOGIN),
    "a member who must enrol": Visit(turned_to=ENROL),
    "a member of no tenant": Visit(turned_to=REFUSED),
    "a superuser of no tenant": Visit(turned_to=REFUSED),
    "a suspended tenant's owner": Visit(turned_to=REFUSED),
    "an owner by password where a provider is required": Visit(turned_to=REFUSED),
    **{role.value: Visit(role=role) for role in Role},
    "viewer without payloads": Visit(role=Role.VIEWER, blind=True),
    "operator without payloads": Visit(role=Role.OPERATOR, blind=True),
    "a foreign viewer": Visit(role=Role.VIEWER, foreign=True),
    "a foreign owner": Visit(role=Role.OWNER, foreign=True),
}

#: Pages, some with a form that is sent to the same address; by the role that they need.
_PAGES: dict[Role, str] = {
    Role.VIEWER: """
        pulse search filter-suggestions api tasks tasks/<uuid:task_id>
        tasks/<uuid:task_id>/explain tasks/<uuid:task_id>/occurrences
        tasks/<uuid:task_id>/statistics tasks/<uuid:task_id>/versions calendar
        calendar/month calendar/feeds calendar/feeds/new workflows
        workflows/<uuid:task_id>
        workflow-runs/<uuid:run_id> workflow-runs/<uuid:run_id>/steps/<str:key> executions
        executions/timeline executions/<uuid:execution_id> executions/<uuid:execution_id>/log
        executions/<uuid:execution_id>/explain concurrency-keys dead-letters executions/file
        tasks/file dead-letters/file
        dead-letters/<uuid:letter_id> bulk-jobs bulk-jobs/<uuid:job_id> pauses destinations
        destinations/<str:host> pools pools/<str:name> workers workers/earlier
        workers/<path:worker_id> system system/support-bundle.json demo shares objectives usage
        usage.csv alerts alerts/recent alerts/<uuid:alert_id> alert-rules maintenance settings
        settings/calendars
        settings/calendars/<uuid:calendar_id> settings/channels
        settings/event-subscriptions settings/quotas settings/secrets settings/zones settings/try
        settings/confirm
    """,
    Role.OPERATOR: """
        bulk-jobs/new bulk-jobs/count maintenance/new tasks/<uuid:task_id>/backfill
    """,
    Role.ADMIN: """
        tasks/new tasks/import tasks/<uuid:task_id>/edit calendar/spread workflows/new
        workflows/<uuid:task_id>/edit erasures erasures/<uuid:erasure_id> settings/calendars/new
        settings/calendars/<uuid:calendar_id>/edit settings/calendars/<uuid:calendar_id>/import
        settings/members settings/encryption-keys settings/api-keys settings/api-keys/new
        settings/api-keys/<uuid:key_id>/edit settings/api-keys/<uuid:key_id>/rotate
        settings/channels/new settings/channels/<uuid:channel_id>
        settings/channels/<uuid:channel_id>/test settings/event-subscriptions/new
        settings/event-subscriptions/<uuid:event_subscription_id>
        settings/event-subscriptions/<uuid:event_subscription_id>/test settings/secrets/new
        settings/secrets/named/<str:secret> settings/audit alert-rules/new
        alert-rules/<uuid:rule_id>
        settings/audit/export
    """,
}
#: Changes and previews, which are sent and never read.
_SENT: dict[Role, str] = {
    Role.VIEWER: """
        tenant workers/wish tasks/preview workflows/check settings/save settings/push demo/break
        settings/push/<uuid:subscription_id>/remove views/create
        views/<uuid:view_id>/change views/<uuid:view_id>/remove
        calendar/feeds/<uuid:feed_id>/revoke
    """,
    Role.OPERATOR: """
        tasks/<uuid:task_id>/pause tasks/<uuid:task_id>/resume tasks/<uuid:task_id>/run
        tasks/<uuid:task_id>/backfill/begin tasks/<uuid:task_id>/cancel
        workflows/<uuid:task_id>/start workflow-runs/<uuid:run_id>/cancel
        workflow-runs/<uuid:run_id>/pause workflow-runs/<uuid:run_id>/resume
        workflow-runs/<uuid:run_id>/retry workflow-runs/<uuid:run_id>/steps/<str:key>/skip
        workflow-runs/<uuid:run_id>/steps/<str:key>/succeed
        workflow-runs/<uuid:run_id>/steps/<str:key>/decide executions/<uuid:execution_id>/cancel
        executions/<uuid:execution_id>/retry dead-letters/<uuid:letter_id>/retry
        dead-letters/<uuid:letter_id>/resolve dead-letters/<uuid:letter_id>/archive
        dead-letters/<uuid:letter_id>/purge bulk-jobs/create bulk-jobs/<uuid:job_id>/cancel
        pauses/create pauses/<uuid:pause_id>/end destinations/<str:host>/limits
        destinations/<str:host>/reset pools/new/create pools/<str:name>/pause
        pools/<str:name>/resume pools/<str:name>/limit pools/<str:name>/delete
        alerts/<uuid:alert_id>/mute alerts/<uuid:alert_id>/acknowledge
        alerts/<uuid:alert_id>/assign maintenance/<uuid:window_id>/end
    """,
    Role.ADMIN: """
        tasks/test tasks/<uuid:task_id>/delete tasks/<uuid:task_id>/erase
        tasks/<uuid:task_id>/rollback calendar/spread/create workflows/list settings/tenant
        settings/idempotency settings/calendars/<uuid:calendar_id>/delete settings/members/invite
        settings/members/<int:member_id>/change settings/members/<int:member_id>/remove
        settings/members/invitations/<uuid:invitation_id>/resend
        settings/members/invitations/<uuid:invitation_id>/withdraw
        settings/api-keys/<uuid:key_id>/revoke settings/secrets/named/<str:secret>/remove
        settings/channels/<uuid:channel_id>/remove
        settings/event-subscriptions/<uuid:event_subscription_id>/pause
        settings/event-subscriptions/<uuid:event_subscription_id>/resume
        settings/event-subscriptions/<uuid:event_subscription_id>/redrive
        settings/event-subscriptions/<uuid:event_subscription_id>/remove
        alert-rules/<uuid:rule_id>/delete
    """,
    Role.OWNER: """
        settings/second-factor settings/provider settings/members/<int:member_id>/transfer
        settings/encryption-keys/rotate
    """,
}
#: Sent, too, but those who may not are told so before a wrong method is.
_JUDGED_FIRST = {
    "settings/try",
    "settings/confirm",
    "settings/channels/<uuid:channel_id>/test",
    "settings/event-subscriptions/<uuid:event_subscription_id>/test",
    "settings/calendars/<uuid:calendar_id>/import",
    "settings/api-keys/<uuid:key_id>/rotate",
}
#: A person's own account: also of a person without a tenant.
_OWN = {"account", "account/second-factor"}
_OWN_SENT = {
    "account/password",
    "account/sessions/end",
    "account/sessions/<uuid:session_id>/end",
    "account/identities/<int:identity_id>/unlink",
    "account/second-factor/begin",
    "account/second-factor/confirm",
    "account/second-factor/codes",
    "account/second-factor/remove",
}
#: All that a person may do who has yet to set up a second factor.
ENROLMENT = {
    "account/second-factor",
    "account/second-factor/begin",
    "account/second-factor/confirm",
    "logout",
}
#: For anybody: they sign in or out, accept an invitation, or serve a file. They show no tenant,
#: the link of a feed but the one of its token.
OPEN = {
    "login",
    "login/code",
    "login/oidc/<slug:provider>",
    "login/oidc/<slug:provider>/callback",
    "logout",
    "invitations",
    "invitations/<str:token>",
    "push-worker.js",
    "calendar-feeds/<str:token>.ics",
}
#: Payloads as such: without the right to see them there is no page.
_PAYLOADS = {"executions/<uuid:execution_id>/log"}
#: About the installation: for operators alone, whom no kind of visitor here is.
_OF_OPERATORS = {"system", "system/support-bundle.json", "workers/wish"}
#: Of an installation that was started with the demo, which the world's is not.
_OF_A_DEMO = {"demo", "demo/break"}
#: What a page asks by itself: a visitor without access to it gets an empty list.
_ASKED_BESIDE = {"alerts/recent"}
#: Fields of forms that are judged before their object is looked for, by the last part of the route.
FIELDS: dict[str, dict[str, str]] = {
    "decide": {"decision": "approve", "take": "1"},
    "mute": {"minutes": "60"},
    "erase": {"reason": "asked"},
    "redrive": {"since": "2020-01-01T00:00"},
    "rotate": {"overlap_seconds": "0"},
    "begin": {
        "expected_count": "1",
        "typed": "1",
        "start": "2026-01-01T00:00",
        "end": "2026-01-02T00:00",
    },
}
#: The object of one member, which is another than the visitor.
_OF_A_MEMBER = {
    "settings/push/<uuid:subscription_id>/remove",
    "calendar/feeds/<uuid:feed_id>/revoke",
}


def _needs() -> dict[str, Role]:
    listed = [*_PAGES.items(), *_SENT.items()]
    return {"": Role.VIEWER, **{route: role for role, text in listed for route in text.split()}}


#: Route -> the least role that it needs.
NEEDS: dict[str, Role] = _needs()
_ONLY_SENT = {route for text in _SENT.values() for route in text.split()} | _OWN_SENT
#: Every route that the table knows.
ALL: tuple[str, ...] = tuple(sorted({*NEEDS, *_OWN, *_OWN_SENT}))


def answer(route: str, method: str, visitor: Visit) -> str:
    """Return what the visitor is answered who reads the page or sends its form."""
    if visitor.turned_to == ENROL and route not in ENROLMENT:
        return ENROL
    if method == "GET" and route in _ONLY_SENT:
        return NO_METHOD
    if route in _OWN | _OWN_SENT:
        # An object that they name is another person's, in each tenant.
        allowed = GONE if "<" in route else TAKEN
        return LOGIN if visitor.turned_to == LOGIN else allowed
    if refusal := _refusal(route, visitor):
        return EMPTY if route in _ASKED_BESIDE else refusal
    if method == "GET" and route in _JUDGED_FIRST:
        return NO_METHOD
    gone = route in _OF_A_MEMBER | _OF_A_DEMO or (visitor.foreign and names_an_object(route))
    return GONE if gone else TAKEN


def _refusal(route: str, visitor: Visit) -> str:
    """Return the answer to a visitor without the right; "" where it has it."""
    if visitor.role is None:
        return visitor.turned_to
    if visitor.role.rank < NEEDS[route].rank or (visitor.blind and route in _PAYLOADS):
        return REFUSED
    if route in _OF_OPERATORS:
        return REFUSED
    return ""


def names_an_object(route: str) -> bool:
    """Return whether the route names an object of a tenant."""
    return bool(re.search(r"<\w+:\w+>", route))
