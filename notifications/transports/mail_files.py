"""The mail backend of an installation without a mail server: one file per message.

Every message is also one line in the log, so that a person who tries the product finds it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend

log = logging.getLogger(__name__)


class EmailBackend(BaseEmailBackend):
    """Writes messages as ``.eml`` files below EMAIL_FILE_PATH, readable by their owner only."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._directory = Path(settings.EMAIL_FILE_PATH)

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Write each message whole or not at all; return how many."""
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        for message in email_messages:
            path = self._directory / f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid4().hex[:8]}.eml"
            scratch = path.with_suffix(".new")
            descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as handle:
                handle.write(message.message().as_bytes())
            scratch.replace(path)
            log.info(
                "mail.written",
                extra={"to": ", ".join(message.to), "subject": message.subject, "file": str(path)},
            )
        return len(email_messages)
