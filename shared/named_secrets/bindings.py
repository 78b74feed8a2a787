"""Bindings of a named secret: the destinations and commands that may get its value.

A destination is written as an origin: ``api.example.com`` is https on port 443,
``*.example.com`` every name below it, ``http://10.0.0.7:8080`` one without TLS, and ``*`` every
destination. Who may write tasks but not secrets cannot send a secret anywhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shared.addresses import origin_of
from shared.hosts import DEFAULT_PORTS, HostError, bracketed, read_host_port
from shared.templates import TEMPLATE

ANY = "*"
_BELOW = "*."


@dataclass(frozen=True, slots=True)
class Binding:
    """Where a secret may go: hosts in their normal form, and names of commands."""

    hosts: Sequence[str] = ()
    commands: Sequence[str] = ()


def read_host(written: str) -> str:
    """Return a destination in its normal form; raise ValueError that says what is wrong."""
    text = written.strip()
    if text == ANY:
        return ANY
    scheme, separator, rest = text.partition("://")
    scheme, rest = (scheme.lower(), rest) if separator else ("https", text)
    if scheme not in DEFAULT_PORTS:
        raise ValueError("it begins with https:// or http://, or with the host")
    below, rest = rest.startswith(_BELOW), rest.removeprefix(_BELOW)
    if any(character in rest for character in "/?#*\\ \t"):
        raise ValueError("give a host with a port where it has one, without a path")
    try:
        found = read_host_port(rest)
    except HostError as error:
        raise ValueError(error.message) from None
    if below and (found.literal is not None or "." not in found.host):
        raise ValueError("a wildcard needs a name of two parts or more behind it")
    host = (_BELOW if below else "") + bracketed(found.host)
    port = "" if found.port in (None, DEFAULT_PORTS[scheme]) else f":{found.port}"
    return ("" if scheme == "https" else f"{scheme}://") + host + port


def refusals(binding: Binding, target: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the field of a target and the reason for each thing that keeps the secret from it.

    The target has its normal form; its URL may hold templates behind the host.
    """
    if target["kind"] == "command":
        if not _has(binding.commands, target["command"]):
            yield "command", f"it may not be given to the command {target['command']!r}"
        return
    if ANY in binding.hosts:
        return
    for field, url in _called(target):
        if not allows_url(binding, url):
            yield field, f"it may not be sent to {_shown(url)}"
    if _may_be_read_on_the_way(target):
        yield (
            "proxy",
            (
                "it does not go through a proxy unless the URL is https and the certificate is "
                "verified against the public authorities"
            ),
        )


def allows_url(binding: Binding, url: str) -> bool:
    """Return whether the secret may be sent to the URL."""
    if ANY in binding.hosts:
        return True
    origin = origin_of(TEMPLATE.sub("x", url))
    return origin is not None and any(_matches(host, origin) for host in binding.hosts)


def _called(target: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "url", target["url"]
    auth = target.get("auth")
    if auth and auth.get("token_url"):
        yield "auth", auth["token_url"]


def _may_be_read_on_the_way(target: Mapping[str, Any]) -> bool:
    """Return whether the proxy of a target, which its writer chooses, could read what is sent."""
    if not target.get("proxy"):
        return False
    tls = target.get("tls") or {}
    trusted = tls.get("verify", True) and not tls.get("ca_certificates")
    return not trusted or any(not url.lower().startswith("https:") for _, url in _called(target))


def _has(allowed: Sequence[str], name: str) -> bool:
    return ANY in allowed or name in allowed


def _matches(pattern: str, origin: tuple[str, str, int]) -> bool:
    scheme, host, port = origin
    wanted, separator, rest = pattern.partition("://")
    wanted, rest = (wanted, rest) if separator else ("https", pattern)
    below, rest = rest.startswith(_BELOW), rest.removeprefix(_BELOW)
    found = read_host_port(rest)
    if wanted != scheme or (found.port or DEFAULT_PORTS[scheme]) != port:
        return False
    return host.endswith(f".{found.host}") if below else host == found.host


def _shown(url: str) -> str:
    origin = origin_of(TEMPLATE.sub("x", url))
    if origin is None:
        return "this URL"
    scheme, host, port = origin
    return f"{scheme}://{bracketed(host)}" + ("" if port == DEFAULT_PORTS[scheme] else f":{port}")
