"""Validation of the URLs in a target: that they parse, and may be called."""

from __future__ import annotations

from shared.addresses import TargetUrl, UrlError, parse_target_url
from tasks.field_reader import FieldReader
from tasks.limits import URL_LENGTH, Limits


def read_url(reader: FieldReader, key: str, limits: Limits) -> str:
    """Return a URL that may be called; '' for a wrong one, with an error noted."""
    url: str = reader.text(key, "", longest=URL_LENGTH)
    return url if url and parse_noting(reader, key, url, limits) else ""


def parse_noting(reader: FieldReader, key: str, url: str, limits: Limits) -> TargetUrl | None:
    """Return the parsed URL; None, with an error noted at the field, where it may not be called."""
    try:
        return parse_target_url(url, limits.allow_list, limits.allowed_low_ports)
    except UrlError as refused:
        reader.error(key, refused.code, refused.message)
        return None
