"""Sign-in by a provider on this machine, honest and hostile, over real HTTP with real keys."""

from __future__ import annotations

from collections.abc import Iterator
from time import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client

from dashboard.oidc import exchange
from dashboard.throttle import MAX_FAILURES_OF_ADDRESS
from events.models import AuditEntry
from shared.oidc_providers import AccountRule
from tenants.models import Identity, Membership, SignIn, Tenant
from tenants.services.memberships import remove_member
from tests.factories import ACTOR
from tests.support.oidc_issuer import (
    CLIENT,
    Issuer,
    come_back,
    go_there,
    is_in,
    oidc_issuer,
    sign_in_by,
    trust,
)
from tests.support.second_factors import code_of, enrol
from tests.support.smtp_sink import free_port
from tests.support.tokens import private_key

pytestmark = pytest.mark.django_db
ADDRESS = "ada@example.com"


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with oidc_issuer() as found:
        found.claims = {"email": ADDRESS, "email_verified": True}
        yield found


@pytest.fixture(autouse=True)
def _trusted(issuer: Issuer, settings: Any) -> None:
    trust(settings, issuer.provider())


@pytest.fixture
def ada(alpha: Tenant) -> User:
    user = User.objects.create_user(ADDRESS, email=ADDRESS, password="a long password")
    return Membership.objects.create(user=user, tenant=alpha, role="operator").user


def test_a_member_signs_in_and_lands_where_they_wanted_to_go(issuer, ada):
    client = Client()
    page = client.get("/login?next=/tasks")
    assert (
        '<a class="button" href="/login/oidc/acme?next=%2Ftasks">Sign in with Acme</a>' in page.text
    )

    answer = sign_in_by(issuer, client, next="/tasks")

    assert (answer.status_code, answer["Location"]) == (302, "/tasks")
    assert is_in(client)
    [identity] = Identity.objects.all()
    assert (identity.user, identity.subject, identity.email) == (ada, "subject-1", ADDRESS)
    assert SignIn.objects.get().method == "oidc"
    assert "OpenID provider" in client.get("/account").text
    assert AuditEntry.objects.get(action="sign_in.succeeded").after == '{"by":"oidc"}'
    assert AuditEntry.objects.get(action="user.identity_linked").object_id == str(ada.pk)


def test_the_way_there_has_pkce_state_nonce_and_the_exact_address(issuer, settings):
    asked = parse_qs(urlsplit(go_there(Client())).query)

    assert asked["response_type"] == ["code"]
    assert asked["client_id"] == [CLIENT]
    assert asked["code_challenge_method"] == ["S256"]
    assert asked["redirect_uri"] == [f"{settings.PUBLIC_URL}/login/oidc/acme/callback"]
    assert min(len(asked[name][0]) for name in ("state", "nonce", "code_challenge")) >= 43
    assert "openid" in asked["scope"][0].split()
    assert not Session.objects.exists()


def test_the_session_is_a_new_one(issuer, ada):
    client = Client()
    client.force_login(User.objects.create_user("bob"))
    before = client.session.session_key

    sign_in_by(issuer, client)

    assert client.session.session_key != before
    assert int(client.session["_auth_user_id"]) == ada.pk


def test_the_second_sign_in_goes_by_the_subject_whatever_the_address_is_by_then(issuer, ada):
    sign_in_by(issuer, Client())
    issuer.claims = {"email": "other@elsewhere.test", "email_verified": False}
    client = Client()

    sign_in_by(issuer, client)

    assert is_in(client)
    assert Identity.objects.count() == 1


@pytest.mark.parametrize(
    "claims",
    [
        {"email": ADDRESS},
        {"email": ADDRESS, "email_verified": False},
        {"email": ADDRESS, "email_verified": "true"},
        {"email": "ada@elsewhere.test", "email_verified": True},
        {"email": "ada@example.com.elsewhere.test", "email_verified": True},
        {"email": ["ada@example.com"], "email_verified": True},
        {"email_verified": True},
    ],
    ids=["unsaid", "unverified", "a text", "other domain", "suffix", "a list", "no address"],
)
def test_an_address_that_is_not_believed_takes_over_no_account(issuer, ada, claims):
    issuer.claims = claims
    client = Client()

    answer = sign_in_by(issuer, client)

    assert answer.status_code == 403
    assert not is_in(client)
    assert not Identity.objects.exists()


@pytest.mark.parametrize(
    "account",
    [
        {"is_staff": True},
        {"is_superuser": True},
        {"is_active": False},
        {"email": "", "username": ADDRESS},
    ],
    ids=["staff", "superuser", "deactivated", "named like the address"],
)
def test_these_accounts_are_not_linked_by_an_address(issuer, ada, account):
    User.objects.filter(pk=ada.pk).update(**account)

    assert sign_in_by(issuer, Client()).status_code == 403
    assert not Identity.objects.exists()


def test_two_accounts_of_one_address_are_not_guessed_between(issuer, ada):
    User.objects.create_user("second", email=ADDRESS.upper())

    assert sign_in_by(issuer, Client()).status_code == 403


def test_a_deactivated_account_with_an_identity_does_not_sign_in(issuer, ada):
    sign_in_by(issuer, Client())
    User.objects.update(is_active=False)

    assert sign_in_by(issuer, Client()).status_code == 403


@pytest.mark.logs("oidc.without_account")
def test_a_stranger_gets_no_account_unless_a_rule_says_so(issuer):
    answer = sign_in_by(issuer, Client())

    assert answer.status_code == 403
    assert "No account here belongs to this identity" in answer.text
    assert not User.objects.exists()


def test_a_rule_makes_an_account_for_a_group_once(issuer, alpha, beta, settings):
    rules = (
        AccountRule(tenant_id=alpha.pk, role="viewer", domain="example.com"),
        AccountRule(tenant_id=alpha.pk, role="operator", group="on-call"),
        AccountRule(tenant_id=beta.pk, role="admin", group="others"),
    )
    trust(settings, issuer.provider(accounts=rules))
    issuer.claims["groups"] = ["on-call"]
    client = Client()

    sign_in_by(issuer, client)

    assert is_in(client)
    user = User.objects.get()
    assert (user.username, user.email, user.has_usable_password()) == (ADDRESS, ADDRESS, False)
    assert [(m.tenant_id, m.role) for m in user.memberships.all()] == [(alpha.pk, "operator")]
    issuer.claims["groups"] = ["others"]
    sign_in_by(issuer, Client())
    assert user.memberships.get().role == "operator"


def test_a_removed_member_is_out_and_no_rule_brings_them_back(issuer, alpha, settings):
    rule = AccountRule(tenant_id=alpha.pk, role="viewer", domain="example.com")
    trust(settings, issuer.provider(accounts=(rule,)))
    client = Client()
    sign_in_by(issuer, client)
    user = User.objects.get()

    remove_member(alpha.pk, user.pk, actor=ACTOR)

    assert not is_in(client)
    assert SignIn.objects.get().ended_at is not None
    sign_in_by(issuer, client)
    assert not user.memberships.exists()


def test_an_account_that_signs_in_by_its_provider_sets_no_password(issuer, alpha, settings):
    rule = AccountRule(tenant_id=alpha.pk, role="viewer", domain="example.com")
    trust(settings, issuer.provider(accounts=(rule,)))
    client = Client()
    sign_in_by(issuer, client)
    new = "an entirely new password"

    client.post("/account/password", {"new_password": new, "repeated_password": new})

    assert not User.objects.get().has_usable_password()


def test_a_rule_without_a_believed_address_makes_no_account(issuer, alpha, settings):
    rule = AccountRule(tenant_id=alpha.pk, role="viewer", group="on-call")
    trust(settings, issuer.provider(accounts=(rule,)))
    issuer.claims = {"email": ADDRESS, "email_verified": False, "groups": ["on-call"]}

    assert sign_in_by(issuer, Client()).status_code == 403
    assert not User.objects.exists()


def test_a_swapped_state_does_not_sign_in(issuer, ada):
    victim, attacker = Client(), Client()
    go_there(victim)
    of_attacker = issuer.authorize(go_there(attacker))

    assert come_back(victim, of_attacker).status_code == 400
    assert not is_in(victim)
    assert issuer.redeemed == []


def test_an_answer_without_a_begin_signs_nobody_in(issuer, ada):
    answer = issuer.authorize(go_there(Client()))

    assert come_back(Client(), answer).status_code == 400
    assert come_back(Client(), {}).status_code == 400


def test_an_answer_is_used_once_even_where_the_provider_takes_a_code_twice(issuer, ada):
    issuer.is_careless = True
    client = Client()
    answer = issuer.authorize(go_there(client))
    cookies = client.cookies.copy()
    come_back(client, answer)
    again = Client()
    again.cookies = cookies  # type: ignore[assignment]  # as the client has them

    assert come_back(client, answer).status_code == 400
    assert come_back(again, answer).status_code == 409
    assert not is_in(again)
    assert SignIn.objects.count() == 1
    assert AuditEntry.objects.filter(action="sign_in.succeeded").count() == 1


@pytest.mark.logs("oidc.refused")
def test_a_code_that_is_used_up_is_refused(issuer, ada):
    client = Client()
    answer = issuer.authorize(go_there(client))
    issuer.codes.clear()

    refused = come_back(client, answer)

    assert refused.status_code == 400
    assert "<script>" not in refused.text
    assert not is_in(client)


def test_a_code_of_another_sign_in_is_refused_by_its_nonce(issuer, ada):
    issuer.is_careless = True
    client = Client()
    stolen = issuer.authorize(go_there(Client()))
    own = issuer.authorize(go_there(client))

    assert come_back(client, {**own, "code": stolen["code"]}).status_code == 400
    assert not is_in(client)


@pytest.mark.parametrize(
    "forged",
    [
        {"aud": "another-client"},
        {"aud": [CLIENT, "another-client"]},
        {"aud": [CLIENT, "another-client"], "azp": "another-client"},
        {"iss": "https://elsewhere.test"},
        {"exp": 1_700_000_000, "iat": 1_699_996_400},
        {"exp": None},
        {"sub": None},
        {"sub": ""},
        {"nonce": "of-another"},
        {"nonce": None},
        {"iat": "yesterday"},
        {"iat": None},
    ],
    ids=repr,
)
def test_an_id_token_with_a_wrong_claim_is_refused(issuer, ada, forged):
    issuer.forged = forged
    client = Client()

    assert sign_in_by(issuer, client).status_code == 400
    assert not is_in(client)


@pytest.mark.parametrize(
    ("algorithm", "key"),
    [("none", ""), ("HS256", "x" * 64), ("RS256", 7), ("RS512", 0), ("ES256", "P-256")],
)
def test_an_id_token_with_another_key_or_algorithm_is_refused(issuer, ada, algorithm, key):
    issuer.algorithm = algorithm
    issuer.key = (
        private_key("RSA", key)
        if isinstance(key, int)
        else private_key(key)
        if key == "P-256"
        else key
    )
    if algorithm == "none":
        issuer.key = None
        issuer.is_unsigned = True

    assert sign_in_by(issuer, Client()).status_code == 400
    assert not Identity.objects.exists()


def test_a_public_key_used_as_a_shared_secret_signs_nothing(issuer, ada):
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    from tests.support.tokens import raw_token

    pem = (
        private_key("RSA")
        .public_key()
        .public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    now = int(time())

    def forged(asked: dict[str, str]) -> str:
        claims = {"iss": issuer.url, "aud": CLIENT, "sub": "s", "iat": now, "exp": now + 300}
        claims |= {"nonce": asked["nonce"], **issuer.claims}
        return raw_token({"alg": "HS256", "kid": "one"}, claims, pem)

    issuer.id_token = forged

    assert sign_in_by(issuer, Client()).status_code == 400


def test_one_provider_does_not_answer_for_another(issuer, ada, settings):
    with oidc_issuer(1) as hostile:
        hostile.claims = {"email": ADDRESS, "email_verified": True}
        other = hostile.provider("evil", email_domains=())
        trust(settings, issuer.provider(), other)
        client = Client()
        begun = go_there(client)

        # The code of the honest one comes back to the address of the hostile one, and the reverse.
        assert come_back(client, issuer.authorize(begun), "evil").status_code == 400
        assert hostile.redeemed == []
        assert (
            come_back(client, hostile.authorize(go_there(client, "evil")), "acme").status_code
            == 400
        )
        assert issuer.redeemed == []
        # Its own subjects are its own, and it is believed no address.
        assert sign_in_by(hostile, client, "evil").status_code == 403
        assert not is_in(client)


def test_an_issuer_in_the_answer_must_be_the_one_that_was_asked(issuer, ada):
    client = Client()
    answer = issuer.authorize(go_there(client))

    assert come_back(client, {**answer, "iss": "https://elsewhere.test"}).status_code == 400
    assert issuer.redeemed == []


def test_a_provider_that_names_itself_must_do_so(issuer, ada):
    issuer.published = {"authorization_response_iss_parameter_supported": True}
    client = Client()
    answer = issuer.authorize(go_there(client))
    nameless = {name: value for name, value in answer.items() if name != "iss"}

    assert come_back(client, nameless).status_code == 400
    assert sign_in_by(issuer, client).status_code == 302


@pytest.mark.parametrize(
    "published",
    [
        {"issuer": "https://elsewhere.test"},
        {"token_endpoint": "http://169.254.169.254/token"},
        {"jwks_uri": "http://10.0.0.1/keys"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": None},
    ],
    ids=repr,
)
def test_a_document_with_a_wrong_address_is_not_used(issuer, published):
    issuer.published = published

    answer = Client().get("/login/oidc/acme")

    assert answer.status_code == 503
    assert answer["Retry-After"]


def test_a_provider_at_a_private_address_is_not_called_unless_it_is_allowed(issuer, settings):
    trust(settings, issuer.provider("inside", networks=()))

    assert Client().get("/login/oidc/inside").status_code == 503
    assert not issuer.credentials


@pytest.mark.logs("issuer_keys.not_fetched")
def test_a_provider_that_is_away_leaves_the_password(issuer, ada, settings):
    trust(settings, issuer.provider("away", issuer=f"http://127.0.0.1:{free_port()}"))

    answer = Client().get("/login/oidc/away")

    assert answer.status_code == 503
    assert "password" in answer.text
    form = {"username": ADDRESS, "password": "a long password"}
    assert Client().post("/login", form).status_code == 302


@pytest.mark.parametrize(
    "place",
    "https://else.test/ //else.test/ /\\else.test javascript:alert(1) tasks ?a=1".split(),
)
def test_a_sign_in_leads_to_no_other_host(issuer, ada, place):
    answer = sign_in_by(issuer, Client(), next=place)

    assert (answer.status_code, answer["Location"]) == (302, "/")


def test_a_second_factor_of_the_account_is_asked_for(issuer, ada):
    secret, _ = enrol(ada)
    client = Client()

    answer = sign_in_by(issuer, client, next="/tasks")

    assert answer["Location"] == "/login/code?next=%2Ftasks"
    assert not is_in(client)
    client.post("/login/code", {"code": code_of(ada, secret)})
    assert is_in(client)
    assert (
        SignIn.objects.get(ended_at=None).method,
        SignIn.objects.get(ended_at=None).by_factor,
    ) == (
        "oidc",
        True,
    )


@pytest.mark.parametrize(
    ("setting", "amr", "asks"),
    [
        ("ask", ["mfa"], True),
        ("trust", None, False),
        (("mfa", "hwk"), ["pwd", "mfa"], False),
        (("mfa", "hwk"), ["pwd"], True),
        (("mfa", "hwk"), None, True),
    ],
)
def test_the_providers_second_factor_counts_where_the_setting_says_so(
    issuer, ada, settings, setting, amr, asks
):
    enrol(ada)
    trust(settings, issuer.provider(second_factor=setting))
    issuer.claims["amr"] = amr
    client = Client()

    sign_in_by(issuer, client)

    assert is_in(client) is not asks


def test_a_tenants_second_factor_may_be_the_providers(issuer, ada, alpha, settings):
    Tenant.objects.filter(pk=alpha.pk).update(second_factor_required=True)
    trust(settings, issuer.provider(second_factor="trust"))
    client = Client()
    sign_in_by(issuer, client)
    assert is_in(client)

    trust(settings, issuer.provider(second_factor="ask"))
    sign_in_by(issuer, client)
    assert client.get("/tasks")["Location"] == "/account/second-factor"


def test_a_forged_or_old_cookie_is_of_no_sign_in(issuer, ada, monkeypatch):
    client = Client()
    answer = issuer.authorize(go_there(client))
    kept = client.cookies["oidc"].value
    client.cookies["oidc"] = kept[:-2] + "xx"
    assert come_back(client, answer).status_code == 400

    client.cookies["oidc"] = kept
    monkeypatch.setattr("dashboard.oidc.flow.LASTS_SECONDS", -1)
    assert come_back(client, answer).status_code == 400


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(issuer, settings):
    settings.SESSION_COOKIE_SECURE = True
    answer = Client().get("/login/oidc/acme")

    cookie = answer.cookies["__Host-oidc"]
    assert (cookie["httponly"], cookie["secure"], cookie["samesite"]) == (True, True, "Lax")
    assert (cookie["path"], cookie["domain"]) == ("/", "")


def test_made_up_codes_are_refused_unasked_after_a_while(issuer, ada, monkeypatch):
    monkeypatch.setattr("dashboard.throttle.MAX_FAILURES_OF_ADDRESS", 2)
    assert MAX_FAILURES_OF_ADDRESS > 2
    answers = []
    for _ in range(3):
        client = Client(REMOTE_ADDR="192.0.2.77")
        begun = issuer.authorize(go_there(client))
        answers.append(come_back(client, {**begun, "code": "made-up"}).status_code)

    assert answers == [400, 400, 429]
    assert len(issuer.redeemed) == 2


def test_few_codes_are_redeemed_at_once(issuer, ada):
    for _ in range(exchange.MOST_BUSY):
        assert exchange._BUSY.acquire(blocking=False)
    try:
        assert sign_in_by(issuer, Client()).status_code == 429
    finally:
        for _ in range(exchange.MOST_BUSY):
            exchange._BUSY.release()


def test_the_secret_of_the_client_is_sent_to_the_provider_alone(issuer, ada, caplog):
    answer = sign_in_by(issuer, Client())

    assert issuer.credentials[0].startswith("Basic ")
    assert "client_secret" not in issuer.redeemed[0]
    assert "client secret" not in answer.text + caplog.text + repr(issuer.provider())


def test_a_public_client_redeems_without_a_secret(issuer, ada, settings):
    trust(settings, issuer.provider(client_secret=""))
    client = Client()

    sign_in_by(issuer, client)

    assert is_in(client)
    assert issuer.credentials == [""]


def test_an_error_of_the_provider_is_told_in_our_words(issuer, ada):
    client = Client()
    state = parse_qs(urlsplit(go_there(client)).query)["state"][0]

    answer = come_back(client, {"state": state, "error": "<b>x", "error_description": "<b>y"})

    assert answer.status_code == 400
    assert "<b>" not in answer.text


def test_an_unknown_provider_is_404_and_nothing_is_posted(issuer):
    assert Client().get("/login/oidc/nobody").status_code == 404
    assert Client().get("/login/oidc/nobody/callback").status_code == 404
    assert Client().post("/login/oidc/acme").status_code == 405


def test_a_person_unlinks_their_own_identity_with_the_password(issuer, ada):
    client = Client()
    sign_in_by(issuer, client)
    [identity] = Identity.objects.all()
    path = f"/account/identities/{identity.pk}/unlink"

    client.post(path, {"present_password": "guess"})
    assert Identity.objects.exists()
    client.post(path, {"present_password": "a long password"})

    assert not Identity.objects.exists()
    assert AuditEntry.objects.filter(action="user.identity_unlinked").exists()


def test_an_identity_of_another_person_is_404(issuer, ada):
    sign_in_by(issuer, Client())
    bob = User.objects.create_user("bob", password="a long password")
    other = Client()
    other.force_login(bob)
    [identity] = Identity.objects.all()

    path = f"/account/identities/{identity.pk}/unlink"

    assert other.post(path, {"present_password": "a long password"}).status_code == 404
    assert Identity.objects.exists()
