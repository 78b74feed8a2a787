"""The meaning of curl's options for a task, and how an argument list splits into them.

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
    URL_QUERY = enum.auto()
    USER = enum.auto()
    BEARER = enum.auto()
    PROXY = enum.auto()
    PROXY_USER = enum.auto()
    REDIRECTS = enum.auto()
    GLOBOFF = enum.auto()
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
    #: Text before the value in a header.
    prefix: str = ""
    #: The value that a flag implies, like HEAD.
    value: str = ""


_SCREEN = "what the screen shows has no meaning here."
_FILES = "files are neither read nor written."
_CONNECTION = "how the connection is made cannot be chosen."
_ANSWER = "the answer is kept as a result, not written to a file."
_RETRIES = "the task's retry policy decides over retries."
_SPEED = "how fast data goes is no limit."
_AFTER = "after a redirect the method is the one that browsers choose."
_TLS = "the two sides agree on the version and the ciphers of TLS."
_HTTP = "HTTP/1.1 is used."
_PEM = "files are not read; paste the PEM text under TLS."
_SOCKS = "proxies are reached by HTTP; SOCKS cannot be spoken."
_MULTIPART = "multipart forms cannot be sent; send the fields with -d, or as JSON."
_ONLY_AUTH = "calls prove themselves by Basic, a bearer token, an API key or OAuth 2."


def _flag(name: str, kind: Kind, detail: str = "", value: str = "") -> Option:
    return Option(name, kind, takes_value=False, detail=detail, value=value)


def _flags(names: str, kind: Kind, detail: str = "") -> tuple[Option, ...]:
    return tuple(_flag(f"--{name}", kind, detail) for name in names.split())


def _valued(names: str, kind: Kind, detail: str = "") -> tuple[Option, ...]:
    return tuple(Option(f"--{name}", kind, detail=detail) for name in names.split())


_OPTIONS = (
    # what is called, and with what
    Option("--url", Kind.URL),
    Option("--request", Kind.METHOD),
    _flag("--head", Kind.METHOD, value="HEAD"),
    Option("--header", Kind.HEADER),
    Option("--referer", Kind.HEADER_VALUE, detail="Referer"),
    Option("--user-agent", Kind.HEADER_VALUE, detail="User-Agent"),
    Option("--range", Kind.HEADER_VALUE, detail="Range", prefix="bytes="),
    Option("--cookie", Kind.COOKIE),
    *_valued("data data-ascii data-binary", Kind.DATA),
    Option("--data-raw", Kind.DATA, detail="raw"),
    Option("--data-urlencode", Kind.DATA, detail="urlencode"),
    Option("--json", Kind.JSON),
    Option("--url-query", Kind.URL_QUERY),
    _flag("--get", Kind.QUERY),
    *_flags("globoff", Kind.GLOBOFF),
    # who calls
    Option("--user", Kind.USER),
    Option("--oauth2-bearer", Kind.BEARER),
    *_flags("basic", Kind.IGNORED),
    *_flags("digest negotiate ntlm ntlm-wb anyauth", Kind.REFUSED, _ONLY_AUTH),
    *_valued("aws-sigv4 delegation krb sasl-authzid", Kind.REFUSED, _ONLY_AUTH),
    *_flags("netrc netrc-optional", Kind.REFUSED, _FILES),
    *_valued("netrc-file", Kind.REFUSED, _FILES),
    # how long
    Option("--max-time", Kind.TIMEOUT, detail="timeout_seconds"),
    Option("--connect-timeout", Kind.TIMEOUT, detail="connect_timeout_seconds"),
    *_valued("retry retry-delay retry-max-time", Kind.NOTE, _RETRIES),
    *_flags("retry-all-errors retry-connrefused", Kind.NOTE, _RETRIES),
    *_valued("speed-limit speed-time limit-rate rate", Kind.NOTE, _SPEED),
    # redirects
    *_flags("location", Kind.REDIRECTS),
    _flag("--location-trusted", Kind.REDIRECTS, "credentials stay with the first host."),
    Option("--max-redirs", Kind.NOTE, detail="at most five redirects are followed."),
    *_flags("post301 post302 post303", Kind.NOTE, _AFTER),
    # TLS and proxies
    _flag(
        "--insecure",
        Kind.NOTE,
        "the certificate is checked; under TLS the task can trust an authority of your own, or go "
        "unchecked where this deployment allows it.",
    ),
    *_valued("cert key cacert", Kind.NOTE, _PEM),
    *_valued("capath crlfile cert-type key-type", Kind.NOTE, _PEM),
    *_valued("pass", Kind.NOTE, "keys are given decrypted, under TLS."),
    *_flags("tlsv1 tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3 sslv2 sslv3 ssl ssl-reqd", Kind.NOTE, _TLS),
    *_flags("ssl-no-revoke ssl-revoke-best-effort cert-status false-start", Kind.NOTE, _TLS),
    *_valued("tls-max ciphers tls13-ciphers curves pinnedpubkey", Kind.NOTE, _TLS),
    Option("--proxy", Kind.PROXY),
    Option("--proxy-user", Kind.PROXY_USER),
    *_flags("proxy-basic proxytunnel", Kind.IGNORED),
    *_flags("proxy-insecure", Kind.NOTE, "the certificate is checked also through a proxy."),
    *_flags("proxy-digest proxy-ntlm proxy-negotiate proxy-anyauth", Kind.REFUSED, _ONLY_AUTH),
    *_valued("proxy-header", Kind.NOTE, "a proxy gets no headers of your own."),
    *_valued("noproxy", Kind.NOTE, "a task names its proxy or has none."),
    *_valued("preproxy socks4 socks4a socks5 socks5-hostname", Kind.REFUSED, _SOCKS),
    # HTTP and the connection
    *_flags("http0.9 http1.0 http2 http2-prior-knowledge http3 http3-only", Kind.NOTE, _HTTP),
    *_flags("http1.1 keepalive tcp-nodelay tcp-fastopen path-as-is raw tr-encoding", Kind.IGNORED),
    *_valued("keepalive-time expect100-timeout happy-eyeballs-timeout-ms", Kind.IGNORED),
    *_flags("compressed", Kind.NOTE, "answers are asked for uncompressed."),
    *_flags("ipv4 ipv6", Kind.NOTE, _CONNECTION),
    *_valued("resolve connect-to interface unix-socket", Kind.REFUSED, _CONNECTION),
    *_valued("dns-servers doh-url local-port", Kind.NOTE, _CONNECTION),
    *_valued("request-target proto proto-redir", Kind.REFUSED, _CONNECTION),
    *_valued("proto-default", Kind.IGNORED),
    # the screen and files
    *_flags("silent show-error fail fail-with-body fail-early include no-buffer", Kind.IGNORED),
    *_flags("progress-bar progress-meter disable styled-output show-headers buffer", Kind.IGNORED),
    *_flags("parallel ignore-content-length", Kind.IGNORED),
    *_flags("verbose trace-time trace-ids", Kind.NOTE, _SCREEN),
    *_valued("write-out trace trace-ascii stderr", Kind.NOTE, _SCREEN),
    *_valued("output output-dir dump-header", Kind.NOTE, _ANSWER),
    *_flags("remote-name remote-name-all remote-header-name", Kind.NOTE, _ANSWER),
    *_valued("cookie-jar", Kind.NOTE, "cookies are not kept from run to run."),
    *_flags("junk-session-cookies", Kind.IGNORED),
    *_valued("etag-save etag-compare hsts alt-svc", Kind.NOTE, _FILES),
    *_valued("form form-string", Kind.REFUSED, _MULTIPART),
    *_flags("form-escape", Kind.IGNORED),
    *_valued("upload-file config variable", Kind.REFUSED, _FILES),
    *_flags("append remote-time create-dirs", Kind.IGNORED),
    *_valued("abstract-unix-socket", Kind.REFUSED, _CONNECTION),
    *_valued("continue-at time-cond max-filesize", Kind.REFUSED, "each run gets the whole answer."),
    _flag("--next", Kind.REFUSED, "a task makes one call."),
)
_BY_NAME = {option.name: option for option in _OPTIONS}
_SHORT_NAMES = (
    "X --request I --head H --header e --referer A --user-agent b --cookie d --data u --user "
    "m --max-time G --get L --location k --insecure 0 --http1.0 s --silent S --show-error "
    "f --fail i --include N --no-buffer # --progress-bar g --globoff v --verbose o --output "
    "O --remote-name w --write-out D --dump-header c --cookie-jar F --form T --upload-file "
    "K --config E --cert x --proxy 4 --ipv4 6 --ipv6 n --netrc : --next U --proxy-user "
    "r --range J --remote-header-name R --remote-time j --junk-session-cookies q --disable "
    "Z --parallel 1 --tlsv1 2 --sslv2 3 --sslv3 p --proxytunnel a --append C --continue-at "
    "z --time-cond y --speed-time Y --speed-limit"
).split()
_SHORT = {
    letter: _BY_NAME[name]
    for letter, name in zip(_SHORT_NAMES[::2], _SHORT_NAMES[1::2], strict=True)
}

#: A flag that is turned off again: ``--no-keepalive``.
_OFF = _flag("--no-", Kind.IGNORED)

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
    turned_off = _BY_NAME.get(f"--{name.removeprefix('--no-')}")
    if option is None and turned_off is not None and not turned_off.takes_value:
        return _OFF, ""
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
