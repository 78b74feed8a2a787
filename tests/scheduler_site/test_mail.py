"""EMAIL_URL says which mail server; nonsense stops the start."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured

from scheduler_site.mail import mail_settings


@pytest.mark.parametrize(
    ("url", "port", "ssl", "tls"),
    [
        ("smtp://mail.example.com", 25, False, False),
        ("smtps://mail.example.com", 465, True, False),
        ("smtp+tls://mail.example.com", 587, False, True),
        ("smtp://mail.example.com:2525", 2525, False, False),
    ],
)
def test_the_scheme_says_how_to_connect(url: str, port: int, ssl: bool, tls: bool) -> None:
    found = mail_settings(url)

    assert (found["EMAIL_PORT"], found["EMAIL_USE_SSL"], found["EMAIL_USE_TLS"]) == (port, ssl, tls)
    assert found["EMAIL_HOST"] == "mail.example.com"


def test_a_password_may_hold_any_letter() -> None:
    found = mail_settings("smtp://user%40example.com:p%2Fw%3A@mail.example.com")

    assert found["EMAIL_HOST_USER"] == "user@example.com"
    assert found["EMAIL_HOST_PASSWORD"] == "p/w:"


def test_without_a_url_messages_become_files() -> None:
    assert mail_settings("")["EMAIL_BACKEND"].endswith("mail_files.EmailBackend")
    assert mail_settings("file:///var/mail/x")["EMAIL_FILE_PATH"] == "/var/mail/x"
    assert "console" in mail_settings("console://")["EMAIL_BACKEND"]


@pytest.mark.parametrize(
    "url", ["mail.example.com", "smtp://", "imap://x", "smtp://x:port", "file:"]
)
def test_a_url_without_sense_stops_the_start(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="EMAIL_URL"):
        mail_settings(url)
