"""The standing cast of these tests."""

from __future__ import annotations

from tests.support.cast import (  # noqa: F401 - fixtures
    alpha,
    beta,
    client,
    nobody,
    stranger,
    viewer,
)
