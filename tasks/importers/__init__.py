"""Readers of other schedulers' files; each says what it cannot take over, and why."""

from __future__ import annotations
