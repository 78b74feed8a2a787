"""From a provider's answer to what it has proven: the code is redeemed, the ID token judged.

Authlib builds the requests and checks the claims of the ID token. Its requests leave by our client
and its address guard, and the signature is checked where tokens of services are: neither a `none`
nor a shared secret verifies an ID token. Authlib is an extra: it is imported at first use.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from time import time
from typing import Any
from urllib.parse import urlencode

from api.tenants.json_web_tokens import TokenRefused, check_token, read_token
from dashboard.oidc.flow import Flow
from dashboard.oidc.providers import PublishedProvider
from delivery.errors import DeliveryError
from delivery.headers import USER_AGENT
from delivery.http_messages import Request, Response
from delivery.one_call import call_once
from shared.addresses import AllowList
from shared.exceptions import InvalidInput, QuotaExceeded
from shared.oidc_providers import ASK, TRUST, OidcProvider
from shared.strict_json import read_json
from tenants.services.identities import Proven

#: A longer ID token is refused unread.
MAX_TOKEN_LENGTH = 16 * 1024
_MAX_ANSWER_BYTES = 64 * 1024
_CONNECT_SECONDS, _TOTAL_SECONDS = 2.0, 5.0
_LEEWAY_SECONDS = 60
_MOST_GROUPS = 2000
#: Codes that this process redeems at once: each holds a thread while the provider answers.
MOST_BUSY = 8
_BUSY = threading.BoundedSemaphore(MOST_BUSY)


class AnswerRefused(Exception):
    """The provider's answer proves nothing; the message is a word for the log."""


class TooManySignIns(QuotaExceeded):
    """Too many sign-ins wait for their provider; try again in a moment."""

    code = "too_many_sign_ins"
    retry_after = 5


def authorization_url(published: PublishedProvider, flow: Flow, redirect_uri: str) -> str:
    """Return where the browser goes; raise IssuerUnavailable."""
    endpoint = published.endpoints().authorization
    client = _client(published, redirect_uri)
    url, _ = client.create_authorization_url(
        endpoint, state=flow.state, nonce=flow.nonce, code_verifier=flow.verifier
    )
    return str(url)


def redeem(
    published: PublishedProvider, flow: Flow, answer: Mapping[str, str], redirect_uri: str
) -> tuple[Proven, bool]:
    """Return what the answer to the browser proves, and whether that counts as a second factor.

    Raise AnswerRefused, IssuerUnavailable, TooManySignIns.
    """
    named = answer.get("iss")
    must_name = published.endpoints().names_itself
    if (must_name and named is None) or named not in (None, published.provider.issuer):
        raise AnswerRefused("issuer")
    if "error" in answer:
        raise AnswerRefused("refused_by_provider")
    code = answer.get("code", "")
    if not 0 < len(code) <= MAX_TOKEN_LENGTH or not code.isprintable():
        raise AnswerRefused("code")
    if not _BUSY.acquire(blocking=False):
        raise TooManySignIns
    try:
        tokens = _tokens(published, flow, code, redirect_uri)
    finally:
        _BUSY.release()
    return judge(published, flow, tokens)


def judge(
    published: PublishedProvider, flow: Flow, tokens: Mapping[str, Any]
) -> tuple[Proven, bool]:
    """Return what the ID token proves, and whether it counts as a second factor.

    Raise AnswerRefused, IssuerUnavailable.
    """
    token = tokens.get("id_token")
    if not isinstance(token, str):
        raise AnswerRefused("no_id_token")
    try:
        header, claims = read_token(token, MAX_TOKEN_LENGTH)
        if claims.get("iss") != published.provider.issuer:
            raise AnswerRefused("issuer")
        check_token(token, header, claims, published.issuer, published.keys)
    except TokenRefused as error:
        raise AnswerRefused(error.reason) from error
    _check_claims(published.provider, flow, header, claims, tokens)
    email = claims.get("email") if claims.get("email_verified") is True else ""
    proven = Proven(
        provider=published.provider,
        subject=claims["sub"],
        email=email if isinstance(email, str) else "",
        groups=tuple(_texts(_at(claims, published.provider.groups_claim))),
    )
    return proven, _counts_twice(published.provider, claims)


def _check_claims(
    provider: OidcProvider,
    flow: Flow,
    header: Mapping[str, Any],
    claims: Mapping[str, Any],
    tokens: Mapping[str, Any],
) -> None:
    from authlib.common.errors import AuthlibBaseError
    from authlib.oidc.core import CodeIDToken
    from joserfc.errors import JoseError

    given = {
        "nonce": flow.nonce,
        "client_id": provider.client_id,
        "access_token": tokens.get("access_token"),
    }
    options = {
        "iss": {"essential": True, "value": provider.issuer},
        "nonce": {"essential": True, "value": flow.nonce},
    }
    checked = CodeIDToken(dict(claims), dict(header), options, given)
    try:
        checked.validate(now=int(time()), leeway=_LEEWAY_SECONDS)
    except (AuthlibBaseError, JoseError, ValueError, TypeError, KeyError) as error:
        raise AnswerRefused("claims") from error


def _counts_twice(provider: OidcProvider, claims: Mapping[str, Any]) -> bool:
    wanted = provider.second_factor
    if wanted in (ASK, TRUST):
        return wanted == TRUST
    return not set(wanted).isdisjoint(_texts(claims.get("amr")))


def _tokens(
    published: PublishedProvider, flow: Flow, code: str, redirect_uri: str
) -> Mapping[str, Any]:
    from authlib.common.errors import AuthlibBaseError

    client = _client(published, redirect_uri)
    try:
        found = client.fetch_token(
            published.endpoints().token,
            grant_type="authorization_code",
            code=code,
            code_verifier=flow.verifier,
        )
    # The last ones are of Authlib, for members of another type than it expects.
    except (AuthlibBaseError, ValueError, TypeError, OverflowError) as error:
        raise AnswerRefused("refused_by_token_endpoint") from error
    return found if isinstance(found, Mapping) else {}


def _client(published: PublishedProvider, redirect_uri: str) -> Any:
    from authlib.oauth2.client import OAuth2Client

    provider, proofs = published.provider, published.endpoints().client_proofs
    in_body = "client_secret_post" in proofs and "client_secret_basic" not in proofs
    proof = "client_secret_post" if in_body else "client_secret_basic"
    return OAuth2Client(
        session=_Session(provider),
        client_id=provider.client_id,
        client_secret=provider.client_secret or None,
        token_endpoint_auth_method=proof if provider.client_secret else "none",
        scope=" ".join(provider.scopes),
        redirect_uri=redirect_uri,
        code_challenge_method="S256",
    )


class _Session:
    """What Authlib sends its requests by: our client, which asks the address guard."""

    def __init__(self, provider: OidcProvider) -> None:
        self._provider = provider

    def post(self, url: str, data: Mapping[str, str], headers: Any, auth: Any) -> _Answer:
        """Send a form; raise AnswerRefused."""
        url, headers, body = auth.prepare("POST", url, dict(headers), urlencode(data))
        sent = body.encode() if isinstance(body, str) else body
        request = Request(
            method="POST",
            url=self._provider.url(url),
            headers=[("User-Agent", USER_AGENT), *headers.items()],
            body=sent,
            connect_timeout=_CONNECT_SECONDS,
            timeout=_TOTAL_SECONDS,
            capture_bytes=_MAX_ANSWER_BYTES,
        )
        try:
            return _Answer(call_once(request, AllowList(self._provider.networks)))
        except DeliveryError as error:
            raise AnswerRefused(error.code) from error


class _Answer:
    """An answer as Authlib reads it."""

    def __init__(self, response: Response) -> None:
        self._response = response

    @property
    def status_code(self) -> int:
        """The status."""
        return self._response.status

    def raise_for_status(self) -> None:
        """Raise AnswerRefused for an answer without tokens."""
        if self.status_code != 200:
            raise AnswerRefused(f"http_{self.status_code}")

    def json(self) -> dict[str, Any]:
        """Return the object of the answer, with tokens or an error; raise AnswerRefused."""
        if self._response.truncated or self._response.encoding:
            raise AnswerRefused("not_readable")
        try:
            found = read_json(self._response.body)
        except InvalidInput as error:
            raise AnswerRefused("not_json") from error
        if not isinstance(found, dict):
            raise AnswerRefused("not_tokens")
        if "error" not in found:
            self.raise_for_status()
        return found


def _at(claims: Mapping[str, Any], path: Iterable[str]) -> Any:
    found: Any = claims
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _texts(value: Any) -> list[str]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list):
        return []
    return [one for one in listed[:_MOST_GROUPS] if isinstance(one, str)]
