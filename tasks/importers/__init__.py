"""Readers of other schedulers' files; each reports the lines that it refuses, and why."""

from __future__ import annotations
