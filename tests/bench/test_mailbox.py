from __future__ import annotations

import smtplib
from email.message import EmailMessage

import pytest

from bench.mailbox import HOST, Mailbox, mailbox


def message(subject: str) -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"] = "punctual@localhost", "ada@example.test"
    mail["Subject"], mail["Message-ID"] = subject, "<1@x>"
    mail.set_content("text")
    return mail


def send(server: Mailbox, subject: str) -> None:
    with smtplib.SMTP(HOST, server.port, timeout=10) as client:
        client.send_message(message(subject))


def test_a_message_is_kept_with_its_id_and_the_count_it_tells():
    with mailbox() as server:
        send(server, "[failed] 1000 failures: " + "a long name " * 20)

        (mail,) = server.to("ada@example.test")

    assert (mail.message_id, mail.count) == ("<1@x>", 1000)
    assert mail.taken_ns > 0


def test_a_subject_without_a_count_tells_of_one_failure():
    with mailbox() as server:
        send(server, "[failed] nightly (acme): HTTP 503")

    assert server.mails[0].count == 1


def test_a_closed_mailbox_refuses_and_comes_back_on_the_same_port():
    with mailbox() as server:
        server.close()
        with pytest.raises(ConnectionRefusedError):
            send(server, "while it is away")
        server.open()
        send(server, "after it")

    assert [mail.subject for mail in server.mails] == ["after it"]
