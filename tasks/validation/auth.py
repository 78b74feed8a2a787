"""Validation of a webhook's authentication: basic, bearer, an API key, or OAuth 2.

It checks that every secret fits where it is sent, so that no attempt fails for its form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tasks.choices import API_KEY_PLACES, AUTH_TYPES
from tasks.field_reader import FieldReader, spell
from tasks.limits import NAME_LENGTH, SECRET_BYTES, Limits
from tasks.validation.headers import header_problem
from tasks.validation.secrets import read_secret
from tasks.validation.urls import read_url

_SCOPE_LENGTH = 1000


def read_auth(
    reader: FieldReader, headers: Mapping[str, str], limits: Limits
) -> dict[str, Any] | None:
    """Return the authentication in normal form, or None; note what is wrong."""
    auth = reader.part("auth")
    if auth is None:
        return None
    auth.require("type", f"Use {spell(AUTH_TYPES)}.")
    kind = auth.choice("type", AUTH_TYPES, "")
    if not kind:
        return None
    found = {"type": kind} | _READERS[kind](auth, limits)
    names = {name.lower() for name in headers}
    if "authorization" in names:
        message = "Give auth or an Authorization header, not both."
        reader.error("auth", "exclusive", message)
    elif found.get("in") == "header" and found["name"].lower() in names:
        auth.error("name", "duplicate", "The same header stands in headers already.")
    return found


def _basic(auth: FieldReader, limits: Limits) -> dict[str, Any]:
    auth.refuse_unknown(("type", "username", "password"))
    auth.require("username", "Give the user name.")
    username = auth.text("username", "", longest=SECRET_BYTES)
    if ":" in username:
        auth.error("username", "invalid_characters", "Must not hold a colon.")
    return {"username": username, "password": read_secret(auth, "password")}


def _bearer(auth: FieldReader, limits: Limits) -> dict[str, Any]:
    auth.refuse_unknown(("type", "token"))
    token = read_secret(auth, "token")
    if token and header_problem("Authorization", f"Bearer {token}"):
        auth.error("token", "invalid_characters", "Must be visible ASCII characters.")
    return {"token": token}


def _api_key(auth: FieldReader, limits: Limits) -> dict[str, Any]:
    auth.refuse_unknown(("type", "name", "value", "in"))
    auth.require("name", "Give the name of the header or parameter.")
    name = auth.text("name", "", longest=NAME_LENGTH)
    value = read_secret(auth, "value")
    place = auth.choice("in", API_KEY_PLACES, "header")
    if place == "header" and name:
        if problem := header_problem(name, ""):
            auth.error("name", *problem)
        elif value and header_problem(name, value):
            auth.error("value", "invalid_characters", "Must be visible ASCII characters.")
    return {"name": name, "value": value, "in": place}


def _oauth2(auth: FieldReader, limits: Limits) -> dict[str, Any]:
    auth.refuse_unknown(("type", "token_url", "client_id", "client_secret", "scope", "audience"))
    auth.require("token_url", "Give the URL that answers tokens.")
    auth.require("client_id", "Give the client's id.")
    return {
        "token_url": read_url(auth, "token_url", limits),
        "client_id": auth.text("client_id", "", longest=SECRET_BYTES),
        "client_secret": read_secret(auth, "client_secret"),
        "scope": auth.text("scope", None, longest=_SCOPE_LENGTH, nullable=True),
        "audience": auth.text("audience", None, longest=_SCOPE_LENGTH, nullable=True),
    }


_READERS: dict[str, Callable[[FieldReader, Limits], dict[str, Any]]] = {
    "basic": _basic,
    "bearer": _bearer,
    "api_key": _api_key,
    "oauth2": _oauth2,
}
