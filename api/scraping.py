"""``/metrics``: one scrape of any web process shows the whole installation.

Closed unless the operator opens it, by a token or to the callers of some networks. It names no
tenant unless METRICS_TENANTS asks for that.
"""

from __future__ import annotations

from hmac import compare_digest

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from api.protocol.problems import Problem, respond
from insight.metrics.collector import COLLECTOR, Busy
from shared import networks
from shared.client_address import client_address
from shared.conf import conf


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer with the metrics in the format that the caller accepts.

    404 while it is closed, to all or to this address, 401 without the token where there is one, 503
    where nothing could be read.
    """
    refusal = _refusal(request)
    answer = _scraped(request) if refusal is None else respond(refusal, request)
    answer["Cache-Control"] = "no-store"
    # A scraper asks for ever; its refusals are no errors of this process.
    answer._has_been_logged = True  # type: ignore[attr-defined]  # read by Django's log
    return answer


def _scraped(request: HttpRequest) -> HttpResponse:
    try:
        text, content_type = COLLECTOR.scrape(request.META.get("HTTP_ACCEPT", ""))
    except Busy:
        detail = "The metrics cannot be read now. Try again shortly."
        return respond(Problem(503, "unavailable", detail, headers={"Retry-After": "5"}), request)
    return HttpResponse(text, content_type=content_type)


def _refusal(request: HttpRequest) -> Problem | None:
    if _is_of_network(request) or _has_token(request):
        return None
    if conf().metrics_token:
        detail = "Give the token of METRICS_TOKEN as `Authorization: Bearer <token>`."
        challenge = {"WWW-Authenticate": 'Bearer realm="metrics"'}
        return Problem(401, "not_authenticated", detail, headers=challenge)
    if conf().metrics_networks:
        return Problem(404, "not_found", "METRICS_NETWORKS does not have your address.")
    return Problem(404, "not_found", "Set METRICS_TOKEN or METRICS_NETWORKS to open the metrics.")


def _is_of_network(request: HttpRequest) -> bool:
    allowed = conf().metrics_networks
    # A webhook comes from a worker, whose address may be in the networks, and its tenant reads the
    # answer. Every webhook has this header, and no tenant can take it away.
    if "HTTP_WEBHOOK_ID" in request.META:
        return False
    # Asked only where there are some: an empty list would hold every address.
    return bool(allowed) and networks.holds(allowed, client_address(request))


def _has_token(request: HttpRequest) -> bool:
    token = conf().metrics_token
    scheme, _, given = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    # As bytes: the comparison refuses text beyond ASCII.
    same = compare_digest(given.strip().encode(errors="surrogatepass"), token.encode())
    return bool(token) and scheme.lower() == "bearer" and same
