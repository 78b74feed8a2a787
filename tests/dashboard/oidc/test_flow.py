from __future__ import annotations

from django.http import HttpResponse
from django.test import RequestFactory

from dashboard.oidc.flow import Flow, begin_flow, cookie_name, forget_flow, keep_flow, kept_flow


def kept(flow: Flow, provider: str, state: str) -> Flow | None:
    answer = HttpResponse()
    keep_flow(answer, flow)
    request = RequestFactory().get("/")
    request.COOKIES[cookie_name()] = answer.cookies[cookie_name()].value
    return kept_flow(request, provider, state)


def test_a_flow_is_found_by_its_provider_and_state_only():
    flow = begin_flow("acme", "/tasks")

    assert kept(flow, "acme", flow.state) == flow
    assert kept(flow, "other", flow.state) is None
    for state in ("", "x", flow.state[:-1], flow.state + "x", "\udc80"):
        assert kept(flow, "acme", state) is None
    assert kept_flow(RequestFactory().get("/"), "acme", flow.state) is None


def test_no_two_flows_share_anything():
    one, other = begin_flow("acme", ""), begin_flow("acme", "")

    texts = [one.state, one.nonce, one.verifier, other.state, other.nonce, other.verifier]
    assert len(set(texts)) == 6
    assert one.sign_in_id != other.sign_in_id


def test_a_flow_is_forgotten():
    answer = HttpResponse()
    forget_flow(answer)

    assert answer.cookies[cookie_name()]["max-age"] == 0
