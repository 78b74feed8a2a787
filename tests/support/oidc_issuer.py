"""An OpenID provider on this machine: real HTTP, real keys, and as hostile as a test wants it."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
from django.test import Client

from shared.oidc_providers import OidcProvider
from tests.support.tokens import key_set, private_key, public_jwk

CLIENT, SECRET = "punctual-console", "client secret:/+"
NETWORKS = ("127.0.0.1/32",)


@dataclass
class Issuer:
    """What the provider says; a test changes any part of it."""

    port: int = 0
    number: int = 0
    #: Of the person who signs in.
    claims: dict[str, Any] = field(default_factory=dict)
    #: In place of the parts of a discovery document.
    published: dict[str, Any] = field(default_factory=dict)
    #: In place of the claims that every ID token has.
    forged: dict[str, Any] = field(default_factory=dict)
    #: Whether a code works more than once, and with any verifier.
    is_careless: bool = False
    key: Any = None
    algorithm: str = "RS256"
    is_unsigned: bool = False
    #: The forms that the token endpoint has got.
    redeemed: list[dict[str, str]] = field(default_factory=list)
    credentials: list[str] = field(default_factory=list)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def provider(self, name: str = "acme", **parts: Any) -> OidcProvider:
        """Return the settings that trust this provider."""
        wanted: dict[str, Any] = {
            "name": name,
            "label": name.title(),
            "issuer": self.url,
            "client_id": CLIENT,
            "client_secret": SECRET,
            "networks": NETWORKS,
            "email_domains": ("example.com",),
        }
        return OidcProvider(**{**wanted, **parts})

    def authorize(self, url: str) -> dict[str, str]:
        """Return what the browser brings back from the provider's page."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        answer = {"code": code, "state": asked["state"]}
        if self.published.get("authorization_response_iss_parameter_supported"):
            answer["iss"] = self.url
        return answer

    def document(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            **self.published,
        }

    def tokens(self, form: dict[str, str]) -> dict[str, Any]:
        """Return the tokens for a code, or an error."""
        self.redeemed.append(form)
        code = form.get("code", "")
        asked = self.codes.get(code) if self.is_careless else self.codes.pop(code, None)
        if asked is None or form.get("redirect_uri") != asked["redirect_uri"]:
            return {"error": "invalid_grant", "error_description": "<script>"}
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if challenge != asked["code_challenge"] and not self.is_careless:
            return {"error": "invalid_grant"}
        return {"token_type": "Bearer", "access_token": "at", "id_token": self.id_token(asked)}

    def id_token(self, asked: dict[str, str]) -> str:
        now = int(time())
        claims = {
            "iss": self.url,
            "aud": CLIENT,
            "sub": "subject-1",
            "iat": now,
            "exp": now + 300,
            "nonce": asked["nonce"],
            **self.claims,
            **self.forged,
        }
        kept = {name: value for name, value in claims.items() if value is not None}
        if self.is_unsigned:
            return jwt.encode(kept, "", "none")
        key = self.key if self.key is not None else private_key("RSA", self.number)
        return jwt.encode(kept, key, self.algorithm, headers={"kid": "one"})


@contextmanager
def oidc_issuer(number: int = 0) -> Iterator[Issuer]:
    """Run a provider for a block."""
    issuer = Issuer(number=number)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/.well-known/openid-configuration":
                self.say(json.dumps(issuer.document()).encode())
            elif self.path == "/keys":
                self.say(key_set(public_jwk(private_key("RSA", issuer.number), kid="one")))
            else:
                self.say(b"", 404)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            issuer.credentials.append(self.headers.get("authorization", ""))
            found = issuer.tokens(form)
            self.say(json.dumps(found).encode(), 400 if "error" in found else 200)

        def say(self, body: bytes, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    issuer.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        server.server_close()


def trust(settings: Any, *providers: OidcProvider) -> None:
    """Trust these providers, and no others."""
    settings.PUNCTUAL = replace(settings.PUNCTUAL, oidc_providers=providers)


def is_in(client: Client) -> bool:
    """Return whether the browser is signed in and may see pages of a tenant."""
    return client.get("/pulse").status_code == 204


def go_there(client: Client, name: str = "acme", **query: str) -> str:
    """Begin a sign-in and return the address of the provider's page."""
    answer = client.get(f"/login/oidc/{name}", query)
    assert answer.status_code == 302, answer.content
    return str(answer["Location"])


def come_back(client: Client, answer: dict[str, str], name: str = "acme") -> Any:
    """Bring the provider's answer to the console."""
    return client.get(f"/login/oidc/{name}/callback", answer)


def sign_in_by(issuer: Issuer, client: Client, name: str = "acme", **query: str) -> Any:
    """Sign in as the provider's person; return the console's answer."""
    return come_back(client, issuer.authorize(go_there(client, name, **query)), name)
