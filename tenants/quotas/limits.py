"""The quotas of a tenant: which there are, and how its tier and its own limits make them up.

This module knows no model: the settings read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from shared.conf import conf
from shared.exceptions import FieldError, InvalidInput

#: The tier of a tenant that has no other; without an entry in ``TIERS`` it has no limits.
DEFAULT_TIER = "default"
TIER_LENGTH = 40
#: A tenant may create the tasks of this many seconds at once.
BURST_SECONDS = 2
#: From this share on a quota is near; it is so until the share falls below the second.
NEAR, NO_LONGER_NEAR = 0.8, 0.7
_MOST = 10**15
#: The smallest and the largest limit of each quota.
BOUNDS: Mapping[str, tuple[int, int]] = {
    "stored_tasks": (0, _MOST),
    "stored_payload_bytes": (0, _MOST),
    "creations_per_second": (1, 100_000),
    "calls_per_second": (1, 100_000),
    "executions_in_flight": (1, 1_000_000),
    "executions_per_second": (1, 100_000),
    "runs_in_flight": (1, 1_000_000),
    "steps_in_flight": (1, 1_000_000),
    "retention_days": (1, 36_500),
}
#: Quotas of work under way.
RUNS_IN_FLIGHT, STEPS_IN_FLIGHT = IN_FLIGHT = ("runs_in_flight", "steps_in_flight")
#: The reason in the ledger of work that waits for a quota of its tenant: runs and steps on hold,
#: and executions that the start guard has refused, until they are sent again.
TENANT_LIMIT = "tenant_limit"
#: Quotas of what lies in the database; the others are rates.
STORED = ("stored_tasks", "stored_payload_bytes")
#: Quotas of the executions that workers start.
EXECUTIONS = ("executions_in_flight", "executions_per_second")


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits in force for a tenant; None is no limit."""

    #: Tasks that are not deleted.
    stored_tasks: int | None = None
    #: Bytes of the sealed payloads of all versions of these tasks.
    stored_payload_bytes: int | None = None
    #: New tasks a second.
    creations_per_second: int | None = None
    #: Calls of the API that each key may make a second; None: as the installation has it.
    calls_per_second: int | None = None
    #: Executions that workers of Punctual run at one time.
    executions_in_flight: int | None = None
    #: Executions that they start in a second.
    executions_per_second: int | None = None
    #: Runs of workflows that have begun and not ended.
    runs_in_flight: int | None = None
    #: Steps of these runs that have begun and not ended.
    steps_in_flight: int | None = None
    #: How long the history of the tenant is kept; None: as long as the installation's.
    retention_days: int | None = None

    @property
    def counts_stored(self) -> bool:
        """Return whether what the tenant stores is counted at each creation."""
        return self.stored_tasks is not None or self.stored_payload_bytes is not None

    @property
    def bounds_executions(self) -> bool:
        """Return whether the tenant's executions are counted as workers start them."""
        return self.executions_in_flight is not None or self.executions_per_second is not None

    def of(self, name: str) -> int | None:
        """Return the limit of a quota."""
        found: int | None = getattr(self, name)
        return found


NONE = Limits()
assert [field.name for field in fields(Limits)] == list(BOUNDS)  # noqa: S101 - one list of names


def resolve(tier: str, own: Mapping[str, Any] | None, *, unlimited: bool) -> Limits:
    """Return the limits in force: those of the tier, with the tenant's own in their place.

    A limit of its own that is None lifts that of the tier. A tier that ``TIERS`` no longer names
    counts as the default one.
    """
    tiers = conf().tiers
    if unlimited or not (own or tiers):
        return NONE
    base = tiers.get(tier, tiers.get(DEFAULT_TIER, {}))
    found = replace(NONE, **base)
    given = {name: value for name, value in (own or {}).items() if name in BOUNDS}
    return replace(found, **given) if given else found


def share_of(used: int, limit: int) -> float:
    """Return which share of a limit is used; a limit of 0 is always used up."""
    return used / limit if limit else 1.0


def check_own(own: Mapping[str, Any]) -> None:
    """Raise InvalidInput that names each unknown quota and each limit out of its bounds."""
    errors = []
    for name, value in own.items():
        if name not in BOUNDS:
            message = f"There is no quota {name!r}; there are {', '.join(BOUNDS)}."
            errors.append(FieldError(f"#/{name}", "unknown", message))
        elif value is not None and not is_limit(name, value):
            low, high = BOUNDS[name]
            message = f"Give {name} as a whole number from {low} to {high}."
            errors.append(FieldError(f"#/{name}", "out_of_range", message))
    if errors:
        raise InvalidInput(errors, errors[0].message)


def is_limit(name: str, value: Any) -> bool:
    """Return whether a value can be the limit of a quota."""
    low, high = BOUNDS[name]
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
