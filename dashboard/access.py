"""The visitor of a page, the tenant and the visitor's rights; the decorators of all views.

``page`` wraps a view that shows, ``action`` a view that changes. Both find the visitor, check the
role, show times in the visitor's zone, and turn errors into a page or a message.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, cast
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import structlog
from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.db import DatabaseError, InterfaceError, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.http import url_has_allowed_host_and_scheme

from api.idempotency import IdempotencyInProgress, answer_once
from api.protocol.outages import is_outage
from api.protocol.problems import log_refusal
from api.protocol.trace import trace_id_of
from dashboard.live_parts import HAVE
from dashboard.process_rights import FOR_OPERATORS, runs_processes, sees_processes
from dashboard.readings import note_reading
from dashboard.sent_forms import (
    answer_script,
    has_typed,
    is_by_script,
    offer_again,
    refuse_script,
    tell_script,
)
from dashboard.sign_in_guard import method_of, must_enrol
from shared import process_sight, tenant_scope
from shared.actor import Actor
from shared.conf import conf
from shared.encryption import DecryptionFailed
from shared.exceptions import InvalidInput, PunctualError, QuotaExceeded
from shared.payload_sight import sight
from shared.request_actor import actor_of
from shared.tenant_scope import Purpose
from tenants.choices import Role
from tenants.models import Membership, Tenant
from tenants.services.provider_sign_in import open_to

log = logging.getLogger(__name__)

ZONE_COOKIE, CLOCK_COOKIE, THEME_COOKIE = "punctual_zone", "punctual_clock", "punctual_theme"
_MAX_NEXT = 2000
#: Fields that are no part of the change that a form asks for.
_NO_ASK = ("csrfmiddlewaretoken",)


@dataclass(frozen=True, slots=True)
class Visitor:
    """A signed-in member and the chosen tenant."""

    user: User
    membership: Membership
    memberships: tuple[Membership, ...]
    actor: Actor

    @property
    def tenant(self) -> Tenant:
        """The tenant whose rows this visitor sees."""
        return self.membership.tenant

    def may(self, role: str) -> bool:
        """Return whether the visitor's role is at least this one."""
        return Role(self.membership.role).rank >= Role(role).rank

    @property
    def may_operate(self) -> bool:
        """Whether buttons that act on executions and tasks are shown."""
        return self.may(Role.OPERATOR)

    @property
    def may_edit(self) -> bool:
        """Whether buttons that change definitions are shown."""
        return self.may(Role.ADMIN)

    @property
    def sees_payloads(self) -> bool:
        """Whether pages show what was sent, answered and printed."""
        return self.membership.sees_payloads


class ConsoleRequest(HttpRequest):
    """A request whose visitor is known."""

    visitor: Visitor


@dataclass(frozen=True, slots=True)
class Done:
    """The result of an action in a sentence, and the next page (by default the last one).

    Not ``settled``: the change has only begun, and may still fail on the next page.
    """

    message: str
    url: str = ""
    settled: bool = True


View = Callable[..., HttpResponse]
Act = Callable[..., Done]


def page(role: str = Role.VIEWER) -> Callable[[View], View]:
    """Wrap a view ``(request, **captured)``; ``request.visitor`` is set.

    A redirect of a form that the page's script has sent is answered as the script reads it.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def shown(request: HttpRequest, **captured: Any) -> HttpResponse:
            answer = _guarded(request, role, lambda: view(request, **captured))
            by_script = request.method == "POST" and is_by_script(request)
            return answer_script(answer) if by_script else answer

        return shown

    return decorate


def own_page(view: View) -> View:
    """Wrap a page of the person's own account: also of a person without a tenant.

    ``request.visitor`` is set where there is a tenant and the session may do more than enrol.
    """

    @wraps(view)
    def shown(request: HttpRequest, **captured: Any) -> HttpResponse:
        answer = _guarded(request, None, lambda: view(request, **captured))
        answer["Cache-Control"] = "no-store"
        return answer

    return shown


def action(role: str = Role.OPERATOR, *, of_installation: bool = False) -> Callable[[Act], View]:
    """Wrap a change ``(request, **captured) -> Done``: POST only, at most once per form.

    A change ``of_installation`` is for those who may act on its processes.
    The change runs in one durable transaction, under the form's ``form_key``. A refusal becomes a
    message on the page of the form.
    """

    def decorate(act: Act) -> View:
        @wraps(act)
        def done(request: HttpRequest, **captured: Any) -> HttpResponse:
            if request.method != "POST":
                return HttpResponseNotAllowed(["POST"])
            run = partial(_act, request, act, captured, of_installation)
            answer = _guarded(request, role, run)
            return answer_script(answer) if is_by_script(request) else answer

        return done

    return decorate


def run_once(request: HttpRequest, run: Callable[[], HttpResponse]) -> HttpResponse:
    """Run a form's change in one durable transaction, at most once under its ``form_key``.

    A form sent twice is one change; the same form with other contents is another.
    """
    try:
        if not request.POST.get("form_key"):
            with transaction.atomic(durable=True):
                return run()
        return _run_keyed(request, run)
    except QuotaExceeded as error:
        log_refusal(error)
        raise


def _run_keyed(request: HttpRequest, run: Callable[[], HttpResponse]) -> HttpResponse:
    visitor = cast(ConsoleRequest, request).visitor
    fields = sorted((name, values) for name, values in request.POST.lists() if name not in _NO_ASK)
    asked = repr((visitor.user.pk, request.path, fields)).encode(errors="backslashreplace")
    try:
        return answer_once(visitor.tenant, hashlib.sha256(asked).hexdigest(), asked, run)
    except IdempotencyInProgress:
        messages.info(request, "The form was sent twice. The change is already under way.")
        return redirect(_way_back(request))


def refuse(request: HttpRequest, status: int, title: str, detail: str) -> HttpResponse:
    """Return a page with the error, the trace id and a way back."""
    if is_by_script(request):
        return tell_script(status, f"{title}: {detail}")
    trace_id = trace_id_of(request)
    context = {"title": title, "detail": detail, "status": status, "trace_id": trace_id}
    return render(request, "dashboard/refused.html", context, status=status)


def _guarded(
    request: HttpRequest, role: str | None, run: Callable[[], HttpResponse]
) -> HttpResponse:
    try:
        if not request.user.is_authenticated:
            return _sign_in_first(request)
        visitor = None if must_enrol(request) else _visitor(request)
        if visitor is not None:
            tenant_scope.enter(visitor.tenant.pk)
            structlog.contextvars.bind_contextvars(tenant_id=str(visitor.tenant.pk))
            cast(ConsoleRequest, request).visitor = visitor
        elif role is not None:
            return _without_tenant(request)
        with _zone_of(request), _sight_of(request, visitor):
            refusal = _refusal(request, visitor, role) if visitor and role else None
            answer = refusal or run()
        if visitor is not None:
            note_reading(cast(ConsoleRequest, request), answer)
        # A member's page is private, and stale as soon as an execution changes.
        answer.headers.setdefault("Cache-Control", "private, no-cache")
        if HAVE in request.headers:
            # It lacks the parts that the page has: Back must not show it for this address.
            answer["Cache-Control"] = "no-store"
        return answer
    except (DatabaseError, InterfaceError) as error:
        if not is_outage(error):
            raise
        log.warning("console.without_database", extra={"reason": type(error).__name__})
        return _unavailable(request)
    except PunctualError as error:
        unreadable = error.code == DecryptionFailed.code
        title = "It cannot be opened" if unreadable else _TITLES.get(error.status, "Refused")
        return refuse(request, error.status, title, error.message)


@contextmanager
def _sight_of(request: HttpRequest, visitor: Visitor | None) -> Iterator[None]:
    """Show the payloads that the member may see, and processes to operators."""
    processes = conf().processes_public or sees_processes(cast(User, request.user))
    payloads = visitor is not None and visitor.membership.sees_payloads
    with sight(payloads), process_sight.sight(processes):
        yield


def _without_tenant(request: HttpRequest) -> HttpResponse:
    found = Membership.objects.filter(user=cast(User, request.user)).select_related("tenant")
    with tenant_scope.across(Purpose.SIGN_IN):
        tenants = [one.tenant for one in found.order_by("tenant__name")]
    if not tenants:
        return refuse(request, 403, "No tenant yet", "You are not a member of any tenant.")
    closed = ", ".join(one.name for one in tenants if one.suspended_at is None)
    if closed:
        detail = (
            f"Members of {closed} sign in by an OpenID provider only. Sign out, and sign in again "
            "by the button of your provider."
        )
        return refuse(request, 403, "Sign in by your provider", detail)
    names = ", ".join(one.name for one in tenants)
    detail = (
        f"{names} is suspended (tenant_suspended): no task of it starts or is shown. Ask the "
        "operator of this installation to resume it."
    )
    return refuse(request, 403, "Tenant suspended", detail)


def _unavailable(request: HttpRequest) -> HttpResponse:
    detail = "The database cannot be reached. Nothing was changed yet."
    if is_by_script(request):
        answer = tell_script(503, detail)
    elif request.method == "POST" and has_typed(request):
        answer = offer_again(request, 503, "Not sent yet", detail)
    else:
        answer = render(None, "dashboard/unavailable.html", status=503)
    answer["Retry-After"] = "5"
    return answer


def _sign_in_first(request: HttpRequest) -> HttpResponse:
    reading = request.method in ("GET", "HEAD")
    # The login does not send a change again; it leads to the page of the form.
    place = request.get_full_path() if reading else _way_back(request)
    if request.headers.get("HX-Request") == "true":
        # The login page must not replace a fragment, and typed text must stay.
        text = "Your session has ended. Sign in in another tab, then continue here."
        return HttpResponse(format_html('<p class="error-text">{}</p>', text))
    detail = "Your session has ended. Nothing was changed yet: sign in, then send the form again."
    if is_by_script(request):
        return tell_script(401, f"{detail} What you typed stays on this page.")
    if not reading and has_typed(request):
        url = reverse("dashboard:login")
        return offer_again(request, 401, "Sign in, then send the form again", detail, sign_in=url)
    return redirect_to_login(place, reverse("dashboard:login"))


def _refusal(request: HttpRequest, visitor: Visitor, role: str) -> HttpResponse | None:
    if not visitor.may(role):
        detail = f"This needs the role {role}; yours is {visitor.membership.role}."
        return refuse(request, 403, "Not allowed", detail)
    of_tenant = request.POST.get("form_tenant") if request.method == "POST" else None
    if of_tenant and of_tenant != str(visitor.tenant.pk):
        detail = (
            f"You now see {visitor.tenant.name}, and this form belongs to another tenant. "
            "Nothing was changed. Choose that tenant again and send the form once more."
        )
        return refuse(request, 409, "Another tenant", detail)
    return None


_TITLES = {
    400: "Not understood",
    403: "Not allowed",
    404: "There is no such page",
    409: "Changed in the meantime",
    503: "Not available at this moment",
}


def _visitor(request: HttpRequest) -> Visitor | None:
    user = cast(User, request.user)
    found = Membership.objects.filter(
        open_to(method_of(request)), user=user, tenant__suspended_at=None
    )
    with tenant_scope.across(Purpose.SIGN_IN):
        memberships = tuple(found.select_related("tenant").order_by("tenant__name"))
    if not memberships:
        return None
    wanted = request.session.get("tenant_id")
    chosen = next((one for one in memberships if str(one.tenant_id) == wanted), None)
    actor = actor_of(request, f"user:{user.pk}")
    return Visitor(user, chosen or memberships[0], memberships, actor)


def _zone_of(request: HttpRequest) -> AbstractContextManager[None]:
    """Show times in the zone of the visitor's browser; UTC while that is unknown, or if chosen."""
    wants_utc = request.COOKIES.get(CLOCK_COOKIE) == "utc"
    try:
        zone = ZoneInfo("UTC" if wants_utc else request.COOKIES.get(ZONE_COOKIE, "UTC"))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        zone = ZoneInfo("UTC")  # a browser may know a zone that the pinned database does not
    return timezone.override(zone)


def _act(
    request: HttpRequest, act: Act, captured: dict[str, Any], of_installation: bool
) -> HttpResponse:
    if of_installation and not runs_processes(cast(User, request.user)):
        return refuse(request, 403, "Not allowed", FOR_OPERATORS)
    back = _way_back(request)

    def run() -> HttpResponse:
        done = act(request, **captured)
        tell = messages.success if done.settled else messages.info
        tell(request, done.message)
        return redirect(done.url or back)

    try:
        return run_once(request, run)
    except PunctualError as error:
        if is_by_script(request):
            return refuse_script(error)
        details = [item.message for item in error.errors] if isinstance(error, InvalidInput) else []
        messages.error(request, " ".join(details) or error.message)
        return redirect(back)


def _way_back(request: HttpRequest) -> str:
    """Return the page of the form: its ``next``, else the referring page, if it is ours."""
    given = request.POST.get("next", "") or _referring_page(request)
    local = given.startswith("/") and url_has_allowed_host_and_scheme(given, allowed_hosts=None)
    return given if local and len(given) <= _MAX_NEXT else reverse("dashboard:overview")


def _referring_page(request: HttpRequest) -> str:
    try:
        parts = urlsplit(request.META.get("HTTP_REFERER", ""))
    except ValueError:
        return ""  # Some browser extensions send text that is no address.
    return f"{parts.path}?{parts.query}" if parts.query else parts.path
