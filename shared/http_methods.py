"""Which methods of HTTP carry a body."""

from __future__ import annotations

#: Methods whose requests carry no payload: their body has no meaning (RFC 9110, 9.3).
BODILESS = ("GET", "HEAD")
