"""Sends one e-mail through Django's backend and reports the result.

EMAIL_URL chooses the backend. Headers are our own or made one line before; Django would refuse a
newline that is left.
"""

from __future__ import annotations

import smtplib
from dataclasses import dataclass
from email.utils import parseaddr

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import BadHeaderError, EmailMultiAlternatives, get_connection
from django.core.validators import validate_email

from notifications.transports.errors import TransportError


@dataclass(frozen=True, slots=True)
class Mail:
    """A message ready to be sent; the id stays the same when it has to be sent again."""

    to: str
    subject: str
    text: str
    html: str
    message_id: str
    #: Messages of one thread share it.
    thread_id: str
    unsubscribe_url: str = ""


def send_email(mail: Mail) -> None:
    """Hand the message to the mail server; raise TransportError when it does not take it."""
    try:
        validate_email(mail.to)
    except ValidationError as error:
        raise TransportError("The e-mail address is not valid.", permanent=True) from error
    try:
        _message(mail).send(fail_silently=False)
    except smtplib.SMTPException as error:
        raise _refusal(error) from error
    except (BadHeaderError, UnicodeError) as error:
        raise TransportError(f"The message has a bad header: {error}", permanent=True) from error
    except OSError as error:
        raise TransportError(f"The mail server cannot be reached: {error}") from error


def _message(mail: Mail) -> EmailMultiAlternatives:
    headers = {
        "Message-ID": mail.message_id,
        "Auto-Submitted": "auto-generated",
        "References": mail.thread_id,
    }
    if mail.unsubscribe_url:
        headers["List-Unsubscribe"] = f"<{mail.unsubscribe_url}>"
        headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message = EmailMultiAlternatives(
        subject=mail.subject,
        body=mail.text,
        from_email=settings.DEFAULT_FROM_EMAIL,
        to=[mail.to],
        headers=headers,
        connection=get_connection(),
    )
    message.attach_alternative(mail.html, "text/html")
    return message


def sender_address() -> str:
    """Return the bare address that messages come from."""
    return parseaddr(settings.DEFAULT_FROM_EMAIL)[1] or "punctual@localhost"


def _refusal(error: smtplib.SMTPException) -> TransportError:
    """Return the refusal: of this message, permanent from code 500 on, or of sender or login.

    The operator has to repair a refused sender or login; the message waits for that.
    """
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        answers = [(code, _text(said)) for code, said in error.recipients.values()]
        code, said = answers[0] if answers else (550, "refused")
        return TransportError(f"The address was refused: {code} {said}", permanent=code >= 500)
    if isinstance(error, smtplib.SMTPDataError):
        said = f"The message was refused: {error.smtp_code} {_text(error.smtp_error)}"
        return TransportError(said, permanent=error.smtp_code >= 500)
    if isinstance(error, smtplib.SMTPResponseException):
        said = f"The mail server refuses: {error.smtp_code} {_text(error.smtp_error)}"
        return TransportError(said)
    return TransportError(f"The mail server failed: {error}")


def _text(said: bytes | str) -> str:
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else said
