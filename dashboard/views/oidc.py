"""Sign-in by an OpenID provider: the way there, and the answer that the browser brings back."""

from __future__ import annotations

import logging

from django.conf import settings
from django.contrib.auth import logout as end_session
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from api.tenants.issuer_keys import IssuerUnavailable
from dashboard.oidc.exchange import AnswerRefused, TooManySignIns, authorization_url, redeem
from dashboard.oidc.flow import begin_flow, forget_flow, keep_flow, kept_flow
from dashboard.oidc.providers import get_provider, published
from dashboard.pending_sign_in import FirstProof, sign_in
from dashboard.throttle import OIDC, is_refused, note_failure
from dashboard.views.session import ask_for_code
from shared.client_address import counted_address
from shared.exceptions import Conflict, NotFound
from shared.oidc_providers import OidcProvider
from shared.request_actor import actor_of
from tenants.choices import SignInMethod
from tenants.services.identities import NoAccount, identity_of

log = logging.getLogger(__name__)

_LONGEST_PLACE = 1000
_AGAIN = "This sign-in has ended or began in another browser. Begin again."
_REFUSED = "{} has not confirmed this sign-in. Begin again, or ask its administrator."
_AWAY = "{} cannot be reached at this moment. Try again later, or sign in with a password."
_BUSY = "Too many sign-ins at once. Try again in a moment."


@require_GET
@never_cache
def begin(request: HttpRequest, provider: str) -> HttpResponse:
    """Send the browser to the provider."""
    found = _provider(provider)
    flow = begin_flow(found.name, _place(request))
    try:
        url = authorization_url(published(found), flow, redirect_uri(found))
    except IssuerUnavailable:
        return _page(request, _AWAY.format(found.label), 503)
    answer = redirect(url)
    keep_flow(answer, flow)
    return answer


@require_GET
@never_cache
def callback(request: HttpRequest, provider: str) -> HttpResponse:
    """Sign in where the provider's answer proves who the person is, once."""
    found = _provider(provider)
    answer = _answered(request, found)
    forget_flow(answer)
    return answer


def redirect_uri(provider: OidcProvider) -> str:
    """Return the one address that the provider answers to."""
    return settings.PUBLIC_URL.rstrip("/") + reverse(
        "dashboard:oidc_callback", args=[provider.name]
    )


def _answered(request: HttpRequest, provider: OidcProvider) -> HttpResponse:
    flow = kept_flow(request, provider.name, request.GET.get("state", ""))
    if flow is None:
        return _page(request, _AGAIN, 400)
    # Codes are made up at will: each failure counts for the address alone.
    subject = (str(flow.sign_in_id), counted_address(request), OIDC)
    if is_refused(*subject):
        return _page(request, _BUSY, 429)
    try:
        proven, counts_twice = redeem(
            published(provider), flow, request.GET, redirect_uri(provider)
        )
        identity = identity_of(proven, actor=actor_of(request, f"oidc:{provider.name}"))
        if request.user.is_authenticated:
            end_session(request)
        method = SignInMethod.OIDC_MFA if counts_twice else SignInMethod.OIDC
        proof = FirstProof(method, flow.sign_in_id, identity.pk)
        signed_in = sign_in(request, identity.user, proof)
    except IssuerUnavailable:
        return _page(request, _AWAY.format(provider.label), 503)
    except TooManySignIns:
        return _page(request, _BUSY, 429)
    except NoAccount as error:
        log.info("oidc.without_account", extra={"provider": provider.name})
        return _page(request, error.message, 403)
    except Conflict as error:
        return _page(request, error.message, 409)
    except AnswerRefused as error:
        note_failure(*subject)
        log.warning("oidc.refused", extra={"provider": provider.name, "reason": str(error)})
        return _page(request, _REFUSED.format(provider.label), 400)
    place = flow.next or reverse(settings.LOGIN_REDIRECT_URL)
    return redirect(place) if signed_in else ask_for_code(place)


def _provider(name: str) -> OidcProvider:
    try:
        return get_provider(name)
    except NotFound as error:
        raise Http404 from error


def _place(request: HttpRequest) -> str:
    """Return the page of this host that the sign-in leads to; empty for any other place.

    Only a path from the root is a page: what else is of this host would be taken for a name.
    """
    place = request.GET.get("next", "")
    is_own = place.startswith("/") and url_has_allowed_host_and_scheme(
        place, allowed_hosts=None, require_https=request.is_secure()
    )
    return place if is_own and len(place) <= _LONGEST_PLACE else ""


def _page(request: HttpRequest, problem: str, status: int) -> HttpResponse:
    answer = render(request, "dashboard/oidc_refused.html", {"problem": problem}, status=status)
    if status in (429, 503):
        answer["Retry-After"] = "30"
    return answer
