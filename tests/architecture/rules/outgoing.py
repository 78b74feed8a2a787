"""Where code opens connections, resolves names or sends mail: each is the guard's or named."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.support.syntax import parse

#: Modules that exist to call others; no code of the product imports them.
_FORBIDDEN = (
    "aiohttp",
    "authlib.integrations",
    "ftplib",
    "httpx",
    "imaplib",
    "nntplib",
    "poplib",
    "pywebpush.webpush",
    "requests",
    "telnetlib",
    "urllib.request",
    "urllib3",
    "websockets",
    "xmlrpc",
)
#: What opens a connection, resolves a name or sends a message, by its full name.
_OPENERS = (
    "asyncio.open_connection",
    "asyncio.open_unix_connection",
    "delivery.http_client.HttpClient",
    "delivery.one_call.call_once",
    "django.core.mail.get_connection",
    "django.core.mail.mail_admins",
    "django.core.mail.mail_managers",
    "django.core.mail.send_mail",
    "django.core.mail.send_mass_mail",
    "http.client.HTTPConnection",
    "http.client.HTTPSConnection",
    "kombu.Connection",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter.OTLPSpanExporter",
    "psycopg.AsyncConnection.connect",
    "psycopg.Connection.connect",
    "psycopg.connect",
    "redis.Connection",
    "redis.ConnectionPool",
    "redis.Redis",
    "redis.from_url",
    "redis.asyncio.Connection",
    "redis.asyncio.ConnectionPool",
    "redis.asyncio.Redis",
    "redis.asyncio.from_url",
    "smtplib.LMTP",
    "smtplib.SMTP",
    "smtplib.SMTP_SSL",
    "socket.create_connection",
    "socket.getaddrinfo",
    "socket.gethostbyname",
    "socket.gethostbyname_ex",
    "socket.socket",
)
#: The same by the name of a method, of whichever object: event loops have them.
_METHODS = {
    "create_connection",
    "create_datagram_endpoint",
    "create_unix_connection",
    "getaddrinfo",
    "sock_connect",
}


def outgoing(source: str) -> list[str]:
    """Return what a module opens connections by, each once, in order of names.

    A reference counts as a call does: what is handed on is called elsewhere. Types do not count.
    """
    tree = parse(source)
    names = dict(_imports(tree))
    found = {full for full in names.values() if _is_forbidden(full)}
    types = _annotations(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and id(node) not in types:
            full = _full(node, names)
            if full in _OPENERS:
                found.add(full)
            elif isinstance(node, ast.Attribute) and not full and node.attr in _METHODS:
                found.add(node.attr)
    return sorted(found)


def _annotations(tree: ast.AST) -> set[int]:
    found: set[int] = set()
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            given = getattr(node, name, None)
            if isinstance(given, ast.expr):
                found |= {id(one) for one in ast.walk(given)}
        if isinstance(node, ast.ExceptHandler) and node.type is not None:
            found |= {id(one) for one in ast.walk(node.type)}
    return found


def _imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield each imported name with what it is in full."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                yield (
                    (one.asname or one.name.split(".")[0]),
                    (one.name if one.asname or _is_forbidden(one.name) else one.name.split(".")[0]),
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for one in node.names:
                yield one.asname or one.name, f"{node.module}.{one.name}"


def _full(node: ast.expr, names: dict[str, str]) -> str:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in names:
        return ""
    return ".".join([names[node.id], *reversed(parts)])


def _is_forbidden(full: str) -> bool:
    return any(full == one or full.startswith(f"{one}.") for one in _FORBIDDEN)
