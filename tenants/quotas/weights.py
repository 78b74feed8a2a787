"""The weights of tenants as this process knows them: their parts of scarce worker capacity.

A changed weight reaches every process within ``KEPT_SECONDS``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic
from uuid import UUID

from tenants.models import Tenant
from tenants.models.tenant import DEFAULT_WEIGHT

KEPT_SECONDS = 5.0


@dataclass(slots=True)
class _Reading:
    weights: dict[UUID, int] = field(default_factory=dict)
    at: float = float("-inf")


_last = _Reading()


def weights() -> dict[UUID, int]:
    """Return the weights that are not 1, by tenant, as they were ``KEPT_SECONDS`` ago at most."""
    if monotonic() - _last.at >= KEPT_SECONDS:
        found = Tenant.objects.exclude(weight=DEFAULT_WEIGHT).values_list("id", "weight")
        _last.weights, _last.at = dict(found), monotonic()
    return _last.weights


def forget() -> None:
    """Read the weights anew when they are asked for next."""
    _last.at = float("-inf")
