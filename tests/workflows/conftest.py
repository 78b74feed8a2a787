"""The clock of these tests stands."""

from __future__ import annotations

from tests.support.standing_clock import standing_clock  # noqa: F401 - stops it for each test
