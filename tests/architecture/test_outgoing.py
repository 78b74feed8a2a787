"""Every place that opens connections asks the address guard, or is named with its reason."""

from __future__ import annotations

import pytest

from tests.architecture import tree
from tests.architecture.rules.outgoing import outgoing

_GUARDED = "asks the address guard for each address"
_OWN_SERVER = "a server that the operator names in the settings"
_HERE = "a socket of this machine, between processes of the installation"
#: Module -> why it may open connections, and by what.
_PLACES: dict[str, tuple[str, tuple[str, ...]]] = {
    # Addresses that users, tenants, issuers and providers name.
    "delivery/address_guard.py": (_GUARDED, ("socket.getaddrinfo",)),
    "delivery/connector.py": (_GUARDED, ("create_connection",)),
    "delivery/one_call.py": (_GUARDED, ("delivery.http_client.HttpClient",)),
    "api/tenants/issuer_keys.py": (_GUARDED, ("delivery.one_call.call_once",)),
    "dashboard/oidc/exchange.py": (_GUARDED, ("delivery.one_call.call_once",)),
    "executions/triggering/test_delivery.py": (_GUARDED, ("delivery.http_client.HttpClient",)),
    "notifications/transports/event_webhook.py": (
        _GUARDED,
        ("delivery.http_client.HttpClient",),
    ),
    "notifications/transports/push.py": (_GUARDED, ("delivery.one_call.call_once",)),
    "notifications/transports/guarded_requests.py": (
        f"{_GUARDED}; of requests it takes the forms of requests and answers only",
        ("delivery.one_call.call_once", "requests"),
    ),
    "notifications/transports/webhook.py": (_GUARDED, ("delivery.one_call.call_once",)),
    "receiver/outgoing.py": (_GUARDED, ("delivery.http_client.HttpClient",)),
    "worker/webhooks.py": (_GUARDED, ("delivery.http_client.HttpClient",)),
    # PostgreSQL, Redis, the mail server, the installation's own public address.
    "executions/ledger/retention.py": (_OWN_SERVER, ("psycopg.connect",)),
    "launcher/embedded_postgres.py": (_OWN_SERVER, ("psycopg.connect",)),
    "launcher/embedded_valkey.py": (_OWN_SERVER, ("redis.Redis",)),
    "launcher/plan.py": (_OWN_SERVER, ("psycopg.connect", "redis.Redis")),
    "notifications/transports/email.py": (_OWN_SERVER, ("django.core.mail.get_connection",)),
    "operations/backup/make.py": (_OWN_SERVER, ("psycopg.connect",)),
    "operations/backup/place.py": (_OWN_SERVER, ("psycopg.connect",)),
    "operations/backup/restore.py": (_OWN_SERVER, ("psycopg.connect",)),
    "operations/database_roles/granting.py": (_OWN_SERVER, ("psycopg.connect",)),
    "operations/doctor/faces.py": (
        _OWN_SERVER,
        (
            "django.core.mail.get_connection",
            "http.client.HTTPConnection",
            "http.client.HTTPSConnection",
        ),
    ),
    "operations/proof/client.py": (_OWN_SERVER, ("asyncio.open_connection",)),
    "operations/storm/ground.py": (_OWN_SERVER, ("redis.Redis",)),
    "shared/notify.py": (_OWN_SERVER, ("psycopg.connect",)),
    "shared/redis_client.py": (_OWN_SERVER, ("redis.Redis", "redis.asyncio.Redis")),
    "shared/tracing/otlp.py": (
        _OWN_SERVER,
        ("opentelemetry.exporter.otlp.proto.http.trace_exporter.OTLPSpanExporter", "requests"),
    ),
    "shared/web_pool.py": (_OWN_SERVER, ("psycopg.connect",)),
    # Between processes, and addresses to listen on.
    "launcher/fork_server.py": (_HERE, ("socket.socket",)),
    "launcher/management/commands/run_web.py": (_HERE, ("socket.getaddrinfo",)),
    "launcher/up.py": (_HERE, ("socket.getaddrinfo", "socket.socket")),
    "launcher/web_probe.py": (_HERE, ("asyncio.open_connection",)),
    "shared/unix_http.py": (_HERE, ("http.client.HTTPConnection", "socket.socket")),
    "worker/handlers/child.py": (_HERE, ("socket.socket",)),
    "worker/handlers/process.py": (_HERE, ("asyncio.open_connection",)),
}


def test_every_outgoing_call_is_guarded_or_named():
    found = {
        module.path: tuple(opened)
        for module in tree.production()
        if (opened := outgoing(module.source))
    }

    assert found == {path: opened for path, (_, opened) in _PLACES.items()}


def test_every_client_of_webhooks_is_made_with_a_guard():
    found = [
        module.path
        for module in tree.production()
        if "HttpClient(" in module.source and "AddressGuard(" not in module.source
    ]

    assert found == ["delivery/http_client.py"] or found == []


@pytest.mark.parametrize(
    ("code", "opened"),
    [
        ("import requests", ["requests"]),
        ("from urllib import request", ["urllib.request"]),
        ("import urllib.request", ["urllib.request"]),
        ("from httpx import get", ["httpx.get"]),
        ("from pywebpush import webpush", ["pywebpush.webpush"]),
        ("from authlib.integrations.requests_client import X", None),
        ("import socket as s\ns.socket()", ["socket.socket"]),
        ("from socket import create_connection as c\nc(('a', 1))", ["socket.create_connection"]),
        ("import http.client\nhttp.client.HTTPConnection('a')", ["http.client.HTTPConnection"]),
        ("import http.client\nclass A(http.client.HTTPConnection): ...", None),
        ("async def f(loop): await loop.create_connection(x, 'a', 1)", ["create_connection"]),
        ("from django.core import mail\nmail.send_mail('a')", ["django.core.mail.send_mail"]),
        ("def f():\n    import smtplib\n    smtplib.SMTP('a')", ["smtplib.SMTP"]),
    ],
)
def test_the_rule_finds_each_way_out(code: str, opened: list[str] | None):
    assert outgoing(code) == opened if opened is not None else outgoing(code)


@pytest.mark.parametrize(
    "code",
    [
        "import socket\nsocket.gethostname()",
        "from pywebpush import WebPusher\nWebPusher({}).encode(b'')",
        "from urllib.parse import urlsplit",
        "import redis\nx: redis.Redis",
    ],
)
def test_what_opens_nothing_is_left_alone(code: str):
    assert outgoing(code) == []
