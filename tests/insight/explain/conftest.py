"""What every test of Explain has: a minute that does not turn under it."""

from __future__ import annotations

from tests.insight.explain.cast import one_minute

__all__ = ["one_minute"]
