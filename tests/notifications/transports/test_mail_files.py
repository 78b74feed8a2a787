"""Without a mail server messages are private files that the log names."""

from __future__ import annotations

import logging
import stat
from pathlib import Path

import pytest
from django.conf import settings

from notifications.transports.email import send_email
from scheduler_site.mail import mail_settings
from tests.support.mails import MAIL


def test_a_message_becomes_a_file_and_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in mail_settings(f"file://{tmp_path}/mail").items():
        monkeypatch.setattr(settings, name, value)

    with caplog.at_level(logging.INFO):
        send_email(MAIL)

    [file] = (tmp_path / "mail").iterdir()
    assert b"Message-ID: <one@punctual.example>" in file.read_bytes()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    [line] = [record for record in caplog.records if record.message == "mail.written"]
    assert getattr(line, "file") == str(file)  # noqa: B009 - an extra of the record


def test_a_directory_that_cannot_be_written_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from notifications.transports.errors import TransportError

    (tmp_path / "file").write_text("no directory")
    for name, value in mail_settings(f"file://{tmp_path}/file").items():
        monkeypatch.setattr(settings, name, value)

    with pytest.raises(TransportError) as caught:
        send_email(MAIL)

    assert not caught.value.permanent
