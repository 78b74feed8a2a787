"""What the methods of HTTP say about a request's body."""

from __future__ import annotations

#: Methods whose requests carry no payload: a body of theirs means nothing (RFC 9110, 9.3).
BODILESS = ("GET", "HEAD")
