"""The standing cast of these tests."""

from __future__ import annotations

from tests.support.cast import alpha, beta  # noqa: F401 - fixtures
