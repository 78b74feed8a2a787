"""The parts of an exchange that no test of the pages reaches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dashboard.oidc.exchange import AnswerRefused, authorization_url, judge, redeem
from dashboard.oidc.flow import Flow, begin_flow
from dashboard.oidc.providers import PublishedProvider
from tests.support.oidc_issuer import Issuer, oidc_issuer

BACK = "https://punctual.example.com/login/oidc/acme/callback"


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with oidc_issuer() as found:
        yield found


@pytest.fixture
def flow() -> Flow:
    return begin_flow("acme", "")


def answered(issuer: Issuer, flow: Flow, **parts: Any) -> tuple[PublishedProvider, dict[str, str]]:
    provider = PublishedProvider(issuer.provider(**parts))
    return provider, issuer.authorize(authorization_url(provider, flow, BACK))


def test_the_verifier_goes_with_the_code(issuer, flow):
    provider, answer = answered(issuer, flow)

    proven, counts_twice = redeem(provider, flow, answer, BACK)

    assert (proven.subject, proven.email, counts_twice) == ("subject-1", "", False)
    assert issuer.redeemed[0]["code_verifier"] == flow.verifier
    assert issuer.redeemed[0]["redirect_uri"] == BACK


def test_a_secret_is_sent_in_the_body_where_the_provider_takes_no_other(issuer, flow):
    issuer.published = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    provider, answer = answered(issuer, flow)

    redeem(provider, flow, answer, BACK)

    assert issuer.redeemed[0]["client_secret"]
    assert issuer.credentials == [""]


@pytest.mark.parametrize("groups", [None, "one", ["one", 2], {"x": ["one"]}, 7], ids=repr)
def test_groups_of_any_form_are_texts_or_none(issuer, flow, groups):
    issuer.claims = {"groups": groups}
    provider, answer = answered(issuer, flow)

    proven, _ = redeem(provider, flow, answer, BACK)

    assert proven.groups in ((), ("one",))


def test_groups_are_found_where_the_setting_says(issuer, flow):
    issuer.claims = {"realm": {"roles": ["one"]}, "groups": ["two"]}
    provider, answer = answered(issuer, flow, groups_claim=("realm", "roles"))

    assert redeem(provider, flow, answer, BACK)[0].groups == ("one",)


@pytest.mark.parametrize(
    "odd",
    [
        {"expires_in": [1]},
        {"expires_in": {"a": 1}},
        {"expires_at": [1]},
        {"expires_at": "soon", "expires_in": [1]},
        {"error": ["x"]},
        {"error": {"x": 1}, "error_description": 7},
    ],
    ids=repr,
)
def test_odd_members_beside_the_tokens_are_a_refusal(issuer, flow, odd):
    provider, answer = answered(issuer, flow)
    honest = issuer.tokens
    issuer.tokens = lambda form: {**honest(form), **odd}

    with pytest.raises(AnswerRefused):
        redeem(provider, flow, answer, BACK)


@pytest.mark.parametrize(
    "tokens", [{}, {"id_token": None}, {"id_token": "x"}, {"id_token": "a.b.c"}]
)
def test_what_is_no_id_token_is_refused(issuer, flow, tokens):
    provider, _ = answered(issuer, flow)

    with pytest.raises(AnswerRefused):
        judge(provider, flow, tokens)


def test_a_token_that_is_too_long_is_refused_unread(issuer, flow):
    issuer.claims = {"groups": ["x" * 100] * 400}
    provider, answer = answered(issuer, flow)

    with pytest.raises(AnswerRefused, match="malformed"):
        redeem(provider, flow, answer, BACK)
