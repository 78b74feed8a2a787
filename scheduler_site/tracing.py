"""Reads the variables of traces; a value that cannot be used stops the start."""

from __future__ import annotations

from importlib.util import find_spec
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from shared import env
from shared.http_headers import is_token
from shared.tracing.config import Tracing

_ENDPOINT, _TRACES = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
_HEADERS, _SAMPLER = "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_TRACES_SAMPLER"
_FOLLOWING, _BY_RATIO = "parentbased_traceidratio", "traceidratio"
_PATH = "/v1/traces"
_PLACE = "{trace_id}"


def read_tracing() -> Tracing | None:
    """Return where spans are sent and which; None where the operator names no receiver."""
    endpoint = _endpoint()
    if not endpoint or env.boolean("OTEL_SDK_DISABLED", False):
        return None
    protocol = env.text("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
    if protocol != "http/protobuf":
        raise ImproperlyConfigured(
            f"OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf, not {protocol!r}"
        )
    sampler = env.text(_SAMPLER, _FOLLOWING)
    if sampler not in (_FOLLOWING, _BY_RATIO):
        raise ImproperlyConfigured(f"{_SAMPLER} must be {_FOLLOWING} or {_BY_RATIO}")
    if not _is_installed():
        raise ImproperlyConfigured(
            f"{_ENDPOINT} is set, and the packages of the extra `otel` are not installed: "
            "make setup-otel, or requirements-otel.lock as UPGRADING.md says; or unset it"
        )
    return Tracing(
        endpoint=endpoint,
        headers=_headers(),
        ratio=env.decimal("OTEL_TRACES_SAMPLER_ARG", 1.0, minimum=0.0, maximum=1.0),
        follows_callers=sampler == _FOLLOWING,
        service_name=env.text("OTEL_SERVICE_NAME", "punctual"),
    )


def read_trace_url() -> str:
    """Return the template of a trace's URL, empty for no links."""
    found = env.text("TRACE_URL")
    if found and (found.count(_PLACE) != 1 or not _is_url(found.replace(_PLACE, "0" * 32))):
        raise ImproperlyConfigured(
            f"TRACE_URL must be an http or https URL with {_PLACE} in it once, such as "
            f"https://traces.example.com/trace/{_PLACE}"
        )
    return found


def _is_installed() -> bool:
    """Return whether all packages of the extra are there; none of them is loaded but parents."""
    try:
        return all(
            map(find_spec, ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http"))
        )
    except ModuleNotFoundError:
        return False


def _endpoint() -> str:
    """Return the URL of posts: as it is given for traces, or below the one of all signals."""
    name, own, common = _TRACES, env.text("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), ""
    if not own:
        name, common = _ENDPOINT, env.text("OTEL_EXPORTER_OTLP_ENDPOINT")
        own = f"{common.rstrip('/')}{_PATH}" if common else ""
    # The URL is in the log when the receiver is away, and in the report of the settings.
    if own and (not _is_url(own) or "?" in own or "#" in own):
        raise ImproperlyConfigured(
            f"{name} must be an http or https URL without user, password and query, such as "
            f"http://127.0.0.1:4318; a key goes into {_HEADERS}"
        )
    return own


def _headers() -> dict[str, str]:
    """Return the ``name=value`` pairs, which commas part; values are written as in URLs."""
    found: dict[str, str] = {}
    for pair in filter(None, map(str.strip, env.text("OTEL_EXPORTER_OTLP_HEADERS").split(","))):
        name, mark, value = (part.strip() for part in pair.partition("="))
        value = unquote(value)
        # The value may be a key: it is not repeated.
        if not mark or not is_token(name) or not value.isascii() or not value.isprintable():
            raise ImproperlyConfigured(f"{_HEADERS} must be pairs NAME=VALUE, NAME=VALUE")
        found[name.lower()] = value
    return found


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 - raises for one that is no number
    except ValueError:
        return False
    plain = text.isascii() and text.isprintable() and " " not in text
    host = bool(parts.hostname) and "@" not in parts.netloc
    return plain and host and parts.scheme in ("http", "https")
