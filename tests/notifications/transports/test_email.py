"""The real bytes of an e-mail, as a mail server gets them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from notifications.transports.email import send_email
from notifications.transports.errors import TransportError
from tests.support.mails import MAIL
from tests.support.smtp_sink import SmtpSink, free_port, smtp_server, use_smtp


def test_the_bytes_carry_both_forms_and_the_one_click_header(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sink = SmtpSink()
    with smtp_server(sink) as port:
        use_smtp(monkeypatch, port)
        send_email(MAIL)

    message = sink.messages[0]
    assert sink.envelopes == [["ada@example.com"]]
    assert message["Subject"] == MAIL.subject
    assert message["Message-ID"] == "<one@punctual.example>"
    assert message["References"] == "<alert.one@punctual.example>"
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["List-Unsubscribe"] == f"<{MAIL.unsubscribe_url}>"
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    parts = [part.get_content_type() for part in message.walk()]
    assert parts == ["multipart/alternative", "text/plain", "text/html"]


@pytest.mark.parametrize("letter", ["\n", "\r", "\r\n"], ids=["lf", "cr", "crlf"])
def test_a_header_cannot_be_injected(monkeypatch: pytest.MonkeyPatch, letter: str) -> None:
    sink = SmtpSink()
    with smtp_server(sink) as port:
        use_smtp(monkeypatch, port)
        with pytest.raises(TransportError) as caught:
            send_email(replace(MAIL, subject=f"x{letter}Bcc: eve@example.com"))

    assert caught.value.permanent
    assert sink.raw == []


@pytest.mark.parametrize("address", ["", "nobody", "a@b\nBcc: eve@example.com"])
def test_a_bad_address_is_refused_for_good(address: str) -> None:
    with pytest.raises(TransportError) as caught:
        send_email(replace(MAIL, to=address))

    assert caught.value.permanent


def test_a_server_that_is_away_may_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    use_smtp(monkeypatch, free_port())

    with pytest.raises(TransportError) as caught:
        send_email(MAIL)

    assert not caught.value.permanent


@pytest.mark.parametrize(
    ("verb", "answer", "permanent"),
    [
        ("RCPT", "550 no", True),
        ("RCPT", "451 later", False),
        ("DATA", "552 no", True),
        ("DATA", "421 later", False),
    ],
)
def test_what_the_server_says_decides_whether_to_try_again(
    monkeypatch: pytest.MonkeyPatch, verb: str, answer: str, permanent: bool
) -> None:
    sink = SmtpSink()
    sink.refuse[verb] = answer
    with smtp_server(sink) as port:
        use_smtp(monkeypatch, port)
        with pytest.raises(TransportError) as caught:
            send_email(MAIL)

    assert caught.value.permanent is permanent
    assert answer[:3] in caught.value.message
