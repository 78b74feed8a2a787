"""Pages behind the signed links of messages: unsubscribe, mute, confirm; without a login.

Opening a page changes nothing, since mail scanners open links; its button does, and so does the
mail program's own unsubscribe (RFC 8058), which posts without a cookie. The signed token is the
proof, hence no CSRF check.
"""

from __future__ import annotations

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from notifications.links import MUTE, UNSUBSCRIBE, SignedLink, read_address_token, read_token
from notifications.models import Alert
from notifications.plain_text import one_line
from notifications.services.addresses import confirm_address
from notifications.services.alerts import mute_alert_for_member
from notifications.services.preferences import unsubscribe_email
from shared import tenant_scope
from shared.client_address import client_address
from shared.exceptions import NotFound
from shared.tenant_scope import Purpose
from tenants.models import Membership

_MUTE_MINUTES = 60


@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe(request: HttpRequest, token: str) -> HttpResponse:
    """Ask, and on POST stop all e-mail to the member of the link."""
    try:
        link = read_token(UNSUBSCRIBE, token)
        _enter_tenant_of(link.membership_id)
        if request.method != "POST":
            text = "You will get no e-mail about failures. Console and push stay as they are."
            return _page(request, "Unsubscribe from e-mail?", text, "Unsubscribe")
        with transaction.atomic(durable=True):
            unsubscribe_email(link.membership_id, address=client_address(request))
    except NotFound as error:
        return _gone(request, error)
    return _page(request, "Unsubscribed", "You will get no further e-mail. The settings undo it.")


@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def mute(request: HttpRequest, token: str) -> HttpResponse:
    """Ask, and on POST mute the alert of the link for its member for an hour."""
    try:
        link = read_token(MUTE, token)
        _enter_tenant_of(link.membership_id)
        if request.method != "POST":
            text = f"{_title(link)}: no e-mail or push for one hour. The alert keeps counting."
            return _page(request, "Mute this alert?", text, "Mute for 1 hour")
        if link.alert_id is None:
            raise NotFound("This link is not valid any more.")
        with transaction.atomic(durable=True):
            mute_alert_for_member(
                link.alert_id,
                link.membership_id,
                minutes=_MUTE_MINUTES,
                address=client_address(request),
            )
    except NotFound as error:
        return _gone(request, error)
    return _page(request, "Muted", "You get no message about this alert for one hour.")


@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def confirm(request: HttpRequest, token: str) -> HttpResponse:
    """Ask, and on POST send the member's messages to the address of the link."""
    try:
        member_id, address = read_address_token(token)
        _enter_tenant_of(member_id)
        if request.method != "POST":
            text = f"Messages about failed tasks then go to {one_line(address)}."
            return _page(request, "Use this address?", text, "Confirm")
        with transaction.atomic(durable=True):
            confirm_address(member_id, address, caller=client_address(request))
    except NotFound as error:
        return _gone(request, error)
    text = f"Messages about failed tasks now go to {one_line(address)}."
    return _page(request, "Address confirmed", text)


def _enter_tenant_of(member_id: int) -> None:
    """Enter the tenant of the member whose signed link was verified; raise NotFound without one."""
    with tenant_scope.across(Purpose.MESSAGE_LINK):
        found = Membership.objects.filter(pk=member_id).values_list("tenant_id", flat=True)
        tenant = found.first()
    if tenant is None:
        raise NotFound("The member is gone.")
    tenant_scope.enter(tenant)


def _title(link: SignedLink) -> str:
    alert = Alert.objects.filter(pk=link.alert_id).first() if link.alert_id else None
    if alert is None:
        raise NotFound("The alert is past its retention.")
    return one_line(alert.title)


def _gone(request: HttpRequest, error: NotFound) -> HttpResponse:
    return _page(request, "This link does not work", error.message, status=404)


def _page(
    request: HttpRequest, title: str, text: str, button: str = "", *, status: int = 200
) -> HttpResponse:
    context = {"title": title, "text": text, "button": button}
    answer = render(request, "notifications/confirm.html", context, status=status)
    # The page's address contains the key, so no other site may get it as referrer.
    answer["Referrer-Policy"] = "no-referrer"
    return answer
