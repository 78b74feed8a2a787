"""English pages."""

from __future__ import annotations
