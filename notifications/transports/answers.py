"""What the other side of a channel has answered: success, or an error that shows the answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from delivery.errors import DeliveryError
from delivery.http_messages import Response
from delivery.retry_after import asked_by
from notifications.plain_text import excerpt, one_line
from notifications.transports.errors import TransportError
from shared.redaction import MASK

#: Characters of an answer that are kept and shown.
SHOWN = 200
#: Answers other than those of a failed server after which another try may help.
_TEMPORARY = frozenset({408, 425, 429})
#: Parts of a URL that are long enough to be a token.
_SHORTEST = 6
_TOKEN = re.compile(rf"[A-Za-z0-9_~.+-]{{{_SHORTEST},}}")


@dataclass(frozen=True, slots=True)
class Answer:
    """The status and the beginning of the body, without the secrets of the channel's URL."""

    status: int
    text: str


def answer_of(response: Response, url: str) -> Answer:
    """Return what may be shown of an answer to a message that went to the channel of this URL."""
    text = response.body.decode("utf-8", "replace")
    return Answer(response.status, excerpt(without_parts_of(url, text), SHOWN))


def without_parts_of(url: str, text: str) -> str:
    """Return the text with every part of the URL masked that may be a token or a password."""
    _, _, rest = url.partition("://")
    login, at, behind = rest.rpartition("@")
    if not at:
        login = ""
    # A webhook's host is shown anyway; in the URL of a service the same place may hold a token.
    plain = url.lower().startswith(("http://", "https://"))
    _, slash, path = behind.partition("/") if plain else ("", "/", behind)
    secret = f"{login} {path}" if slash else login
    # The other side repeats a token as it was sent, or decoded.
    tokens = {*_TOKEN.findall(secret), *_TOKEN.findall(unquote(secret))}
    tokens |= {unquote(part) for part in re.split(r"[\s/?&=:@#]+", secret) if "%" in part}
    for token in sorted(tokens, key=len, reverse=True):
        if len(token) >= _SHORTEST:
            text = text.replace(token, MASK)
    return text


def refusal_of(answer: Answer, response: Response) -> TransportError:
    """Return the error of an answer that is no success; client errors are not tried again."""
    temporary = answer.status in _TEMPORARY or answer.status >= 500
    said = f" It said: {one_line(answer.text, SHOWN)}" if answer.text else ""
    return TransportError(
        f"The channel answered HTTP {answer.status}.{said}",
        permanent=not temporary,
        retry_after=asked_by(response) if temporary else None,
        answer=answer,
    )


def unreached(error: DeliveryError) -> TransportError:
    """Return the error of a call that had no complete answer."""
    permanent = error.code == "address_forbidden"
    return TransportError(f"The channel was not reached: {error.message}", permanent=permanent)
