"""A real mail server on this machine: notes when each message was taken; can be away for a while.

While it is away its port refuses connections, and it comes back on the same one.
"""

from __future__ import annotations

import email
import email.policy
import logging
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from aiosmtpd.controller import Controller

from bench.installation import free_port

HOST = "127.0.0.1"
_COUNT = re.compile(r"\b(\d+) failures\b")


@dataclass(frozen=True, slots=True)
class Mail:
    """One message as it was taken."""

    taken_ns: int
    to: str
    message_id: str
    subject: str

    @property
    def count(self) -> int:
        """Return how many failures the subject tells of."""
        found = _COUNT.search(self.subject)
        return int(found[1]) if found else 1


class Mailbox:
    """The server, and every message since its start."""

    def __init__(self) -> None:
        self.mails: list[Mail] = []
        self.port = free_port()
        self._controller: Controller | None = None

    @property
    def url(self) -> str:
        """Return the value for EMAIL_URL."""
        return f"smtp://{HOST}:{self.port}"

    def open(self) -> None:
        """Listen."""
        logging.getLogger("mail.log").setLevel(logging.WARNING)
        self._controller = Controller(self, hostname=HOST, port=self.port)
        self._controller.start()

    def close(self) -> None:
        """Refuse connections from now on."""
        if self._controller is not None:
            self._controller.stop()
            self._controller = None

    def to(self, address: str) -> list[Mail]:
        """Return the messages to an address, in the order in which they came."""
        return [mail for mail in self.mails if mail.to == address]

    async def handle_DATA(  # noqa: N802 - aiosmtpd finds its handlers by these names
        self, server: Any, session: Any, envelope: Any
    ) -> str:
        """Take a message; called by the server's own thread."""
        self.mails.append(parse_mail(time.time_ns(), envelope.rcpt_tos, envelope.content))
        return "250 taken"


def parse_mail(taken_ns: int, recipients: list[str], raw: bytes) -> Mail:
    """Return what the reports judge of a message."""
    message = email.message_from_bytes(raw, policy=email.policy.default)
    return Mail(
        taken_ns,
        ",".join(recipients),
        str(message["Message-ID"] or "").strip(),
        str(message["Subject"] or ""),
    )


@contextmanager
def mailbox() -> Iterator[Mailbox]:
    """Run a mail server for a block."""
    server = Mailbox()
    server.open()
    try:
        yield server
    finally:
        server.close()
