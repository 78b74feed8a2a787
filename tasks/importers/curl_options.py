"""Which options of curl mean what for a task, and how an argument list splits into them.

Data for tasks/importers/curl.py. An option that is not in the list is refused by name: whether
it takes a value decides how the rest reads, so guessing would change the call.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass


class Kind(enum.Enum):
    """What an option does to the definition."""

    URL = enum.auto()
    METHOD = enum.auto()
    HEADER = enum.auto()
    HEADER_VALUE = enum.auto()
    COOKIE = enum.auto()
    DATA = enum.auto()
    JSON = enum.auto()
    USER = enum.auto()
    TIMEOUT = enum.auto()
    QUERY = enum.auto()
    NOTE = enum.auto()
    REFUSED = enum.auto()
    IGNORED = enum.auto()


@dataclass(frozen=True, slots=True)
class Option:
    """An option by its long name; ``detail`` is a header, a field, or the words of a note."""

    name: str
    kind: Kind
    takes_value: bool = True
    detail: str = ""
    #: What stands before the value in a header.
    prefix: str = ""
    #: What a flag stands for, like HEAD.
    value: str = ""


_SCREEN = "what the screen shows has no meaning here."
_FILES = "files are neither read nor written."
_CONNECTION = "how the connection is made cannot be chosen."


def _flag(name: str, kind: Kind, detail: str = "", value: str = "") -> Option:
    return Option(name, kind, takes_value=False, detail=detail, value=value)


_OPTIONS = (
    Option("--url", Kind.URL),
    Option("--request", Kind.METHOD),
    _flag("--head", Kind.METHOD, value="HEAD"),
    Option("--header", Kind.HEADER),
    Option("--referer", Kind.HEADER_VALUE, detail="Referer"),
    Option("--user-agent", Kind.HEADER_VALUE, detail="User-Agent"),
    Option("--oauth2-bearer", Kind.HEADER_VALUE, detail="Authorization", prefix="Bearer "),
    Option("--cookie", Kind.COOKIE),
    Option("--data", Kind.DATA),
    Option("--data-ascii", Kind.DATA),
    Option("--data-binary", Kind.DATA),
    Option("--data-raw", Kind.DATA, detail="raw"),
    Option("--data-urlencode", Kind.DATA, detail="urlencode"),
    Option("--json", Kind.JSON),
    Option("--user", Kind.USER),
    _flag("--basic", Kind.IGNORED),
    Option("--max-time", Kind.TIMEOUT, detail="timeout_seconds"),
    Option("--connect-timeout", Kind.TIMEOUT, detail="connect_timeout_seconds"),
    _flag("--get", Kind.QUERY),
    _flag("--location", Kind.NOTE, "redirects are not followed; give the final address."),
    _flag("--location-trusted", Kind.NOTE, "redirects are not followed; give the final address."),
    Option("--max-redirs", Kind.NOTE, detail="redirects are not followed."),
    _flag("--insecure", Kind.NOTE, "certificates are always verified."),
    _flag("--compressed", Kind.NOTE, "answers are asked for uncompressed."),
    Option("--retry", Kind.NOTE, detail="the task's retry policy decides over retries."),
    Option("--retry-delay", Kind.NOTE, detail="the task's retry policy decides over retries."),
    Option("--retry-max-time", Kind.NOTE, detail="the task's retry policy decides over retries."),
    _flag("--retry-all-errors", Kind.NOTE, "the task's retry policy decides over retries."),
    _flag("--retry-connrefused", Kind.NOTE, "the task's retry policy decides over retries."),
    _flag("--http1.0", Kind.NOTE, "HTTP/1.1 is used."),
    _flag("--http1.1", Kind.IGNORED),
    _flag("--http2", Kind.NOTE, "HTTP/1.1 is used."),
    _flag("--http3", Kind.NOTE, "HTTP/1.1 is used."),
    _flag("--silent", Kind.IGNORED),
    _flag("--show-error", Kind.IGNORED),
    _flag("--fail", Kind.IGNORED),
    _flag("--fail-with-body", Kind.IGNORED),
    _flag("--include", Kind.IGNORED),
    _flag("--no-buffer", Kind.IGNORED),
    _flag("--progress-bar", Kind.IGNORED),
    _flag("--globoff", Kind.IGNORED),
    _flag("--verbose", Kind.NOTE, _SCREEN),
    Option("--output", Kind.NOTE, detail="the answer is not written to a file."),
    _flag("--remote-name", Kind.NOTE, "the answer is not written to a file."),
    Option("--write-out", Kind.NOTE, detail=_SCREEN),
    Option("--dump-header", Kind.NOTE, detail="the answer is not written to a file."),
    Option("--cookie-jar", Kind.NOTE, detail="cookies are not kept from run to run."),
    Option("--form", Kind.REFUSED, detail="multipart forms cannot be sent; Punctual sends JSON."),
    Option("--form-string", Kind.REFUSED, detail="multipart forms cannot be sent."),
    Option("--upload-file", Kind.REFUSED, detail=_FILES),
    Option("--config", Kind.REFUSED, detail=_FILES),
    Option("--cert", Kind.REFUSED, detail="client certificates are not supported."),
    Option("--key", Kind.REFUSED, detail="client certificates are not supported."),
    Option("--cacert", Kind.REFUSED, detail="the system's certificate authorities decide."),
    Option("--proxy", Kind.REFUSED, detail=_CONNECTION),
    Option("--resolve", Kind.REFUSED, detail=_CONNECTION),
    Option("--connect-to", Kind.REFUSED, detail=_CONNECTION),
    Option("--interface", Kind.REFUSED, detail=_CONNECTION),
    Option("--unix-socket", Kind.REFUSED, detail=_CONNECTION),
    _flag("--ipv4", Kind.NOTE, _CONNECTION),
    _flag("--ipv6", Kind.NOTE, _CONNECTION),
    _flag("--digest", Kind.REFUSED, "only Basic and headers can authenticate."),
    _flag("--negotiate", Kind.REFUSED, "only Basic and headers can authenticate."),
    _flag("--ntlm", Kind.REFUSED, "only Basic and headers can authenticate."),
    _flag("--netrc", Kind.REFUSED, _FILES),
    _flag("--next", Kind.REFUSED, "a task makes one call."),
)
_BY_NAME = {option.name: option for option in _OPTIONS}
_SHORT_NAMES = (
    "X --request I --head H --header e --referer A --user-agent b --cookie d --data u --user "
    "m --max-time G --get L --location k --insecure 0 --http1.0 s --silent S --show-error "
    "f --fail i --include N --no-buffer # --progress-bar g --globoff v --verbose o --output "
    "O --remote-name w --write-out D --dump-header c --cookie-jar F --form T --upload-file "
    "K --config E --cert x --proxy 4 --ipv4 6 --ipv6 n --netrc : --next"
).split()
_SHORT = {
    letter: _BY_NAME[name]
    for letter, name in zip(_SHORT_NAMES[::2], _SHORT_NAMES[1::2], strict=True)
}

Refusal = Callable[[str], Exception]


def split_options(words: Sequence[str], refusal: Refusal) -> Iterator[tuple[Option | None, str]]:
    """Yield each option with its value, and each plain word, which is a URL, with None."""
    rest = iter(words)
    for word in rest:
        if word == "--":
            yield from ((None, plain) for plain in rest)
        elif word.startswith("--"):
            yield _long(word, rest, refusal)
        elif word.startswith("-") and len(word) > 1:
            yield from _cluster(word, rest, refusal)
        else:
            yield None, word


def _long(word: str, rest: Iterator[str], refusal: Refusal) -> tuple[Option, str]:
    name, equals, value = word.partition("=")
    option = _BY_NAME.get(name)
    if option is None:
        raise refusal(f"The option {name} of curl is not known here; leave it out.")
    if not option.takes_value:
        return option, option.value
    return option, value if equals else _value(option.name, rest, refusal)


def _cluster(word: str, rest: Iterator[str], refusal: Refusal) -> Iterator[tuple[Option, str]]:
    """Yield what a word like ``-sSLXPOST`` holds: flags, and at most one option with its value."""
    for place, letter in enumerate(word[1:], start=2):
        option = _SHORT.get(letter)
        if option is None:
            raise refusal(f"The option -{letter} of curl is not known here; leave it out.")
        if option.takes_value:
            yield option, word[place:] or _value(f"-{letter}", rest, refusal)
            return
        yield option, option.value


def _value(name: str, rest: Iterator[str], refusal: Refusal) -> str:
    value = next(rest, None)
    if value is None:
        raise refusal(f"{name} needs a value.")
    return value
