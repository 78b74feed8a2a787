"""Validation of the proxy that a webhook is sent through."""

from __future__ import annotations

from typing import Any

from tasks.field_reader import FieldReader
from tasks.limits import SECRET_BYTES, URL_LENGTH, Limits
from tasks.validation.secrets import read_secret
from tasks.validation.urls import parse_noting


def read_proxy(reader: FieldReader, limits: Limits) -> dict[str, Any] | None:
    """Return the proxy in normal form, or None; note what is wrong."""
    proxy = reader.part("proxy")
    if proxy is None:
        return None
    proxy.refuse_unknown(("url", "username", "password"))
    username = proxy.text("username", None, longest=SECRET_BYTES, nullable=True)
    password = read_secret(proxy, "password", required=False)
    if username and ":" in username:
        proxy.error("username", "invalid_characters", "Must not hold a colon.")
    if proxy.given("username") != proxy.given("password"):
        missing = "password" if proxy.given("username") else "username"
        proxy.error(missing, "required", "Give username and password, or neither.")
    return {"url": _url(proxy, limits), "username": username, "password": password}


def _url(proxy: FieldReader, limits: Limits) -> str:
    proxy.require("url", "Give the proxy as http://host:port.")
    url: str = proxy.text("url", "", longest=URL_LENGTH)
    parsed = parse_noting(proxy, "url", url, limits) if url else None
    if parsed and (parsed.scheme != "http" or parsed.path_and_query != "/"):
        proxy.error("url", "url_invalid", "The URL of a proxy is http://host:port, without path.")
    return url
