"""Pictures drawn on the server: pure functions from plain values to safe inline SVG."""

from __future__ import annotations
