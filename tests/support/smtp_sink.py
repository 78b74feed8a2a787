"""A mail server that keeps what it gets and can be told to refuse, or be away."""

from __future__ import annotations

import email
import email.policy
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from django.conf import settings

from scheduler_site.mail import mail_settings


class SmtpSink:
    """Messages as their raw bytes; ``refuse`` answers the verb of that name instead."""

    def __init__(self) -> None:
        self.raw: list[bytes] = []
        self.envelopes: list[list[str]] = []
        #: Verb (RCPT, DATA) -> the answer to give in place of 250.
        self.refuse: dict[str, str] = {}

    async def handle_RCPT(
        self, server: Any, session: Any, envelope: Any, address: str, options: Any
    ) -> str:
        if "RCPT" in self.refuse:
            return self.refuse["RCPT"]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        if "DATA" in self.refuse:
            return self.refuse["DATA"]
        self.raw.append(envelope.original_content)
        self.envelopes.append(list(envelope.rcpt_tos))
        return "250 taken"

    @property
    def messages(self) -> list[EmailMessage]:
        """Return the messages as a mail program reads them."""
        return [email.message_from_bytes(raw, policy=email.policy.default) for raw in self.raw]


@contextmanager
def smtp_server(sink: SmtpSink, port: int = 0) -> Iterator[int]:
    """Run the sink on this machine, on a free port unless given; yield the port."""
    controller = Controller(sink, hostname="127.0.0.1", port=port or free_port())
    controller.start()
    try:
        yield controller.port
    finally:
        controller.stop()


def use_smtp(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    """Let Django send through that port."""
    for name, value in mail_settings(f"smtp://127.0.0.1:{port}").items():
        monkeypatch.setattr(settings, name, value)


def free_port() -> int:
    """Return a port on which nobody listens."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
