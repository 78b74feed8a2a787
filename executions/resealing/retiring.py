"""Retirement of a data key: refused while something needs it, because it cannot be undone."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from django.db import transaction

from executions.ledger.archive import parts
from executions.loop.clocks import database_now
from executions.resealing.passes import own_columns
from executions.resealing.sealing_anew import is_under
from shared.actor import Actor
from shared.conf import conf
from shared.data_keys import ACTIVE_SECONDS, header_of
from shared.exceptions import Conflict, NotFound
from shared.sql import rows
from tenants.models import DataKey, Resealing, Tenant
from tenants.services.data_keys import destroy_data_key

#: How long after its replacement a process may still seal under a key.
_OVERLAP = timedelta(seconds=2 * ACTIVE_SECONDS)


class Need(NamedTuple):
    """Why a key cannot be retired."""

    code: str
    message: str


def retire(key_id: UUID, *, actor: Actor, archives: bool = True) -> DataKey:
    """Destroy a former data key that nothing needs; return it.

    Without ``archives``, days in the archive count for nothing: what they have of the tenant never
    opens again. Raise NotFound, or Conflict with the code of what needs the key.
    """
    key = DataKey.objects.filter(pk=key_id).first()
    if key is None:
        raise NotFound("There is no such data key.")
    # The values are counted before anything is locked. Nothing is sealed under the key now:
    # it was replaced before the overlap, and what was handed out before has ended.
    if (need := need_of(key, archives=archives)) is not None:
        raise Conflict(need.message, code=need.code)
    with transaction.atomic():
        # The race: two sessions retire it. A rotation holds the same lock.
        Tenant.objects.select_for_update(no_key=True).get(pk=key.tenant_id)
        if not DataKey.objects.filter(pk=key_id).exclude(replaced_at=None).exists():
            raise NotFound("There is no such data key.")
        destroy_data_key(key, actor=actor)
    return key


def need_of(key: DataKey, *, archives: bool = True) -> Need | None:
    """Return the first reason why a data key cannot be retired; None where it can.

    Reads every table with sealed values unless another reason comes first.
    """
    replaced = key.replaced_at
    if replaced is None:
        return Need("key_seals", "The key seals; rotate the tenant's data key first.")
    ends = replaced + _OVERLAP
    if database_now() < ends:
        return Need("key_overlaps", "The key was replaced seconds ago; try again in a minute.")
    if Resealing.objects.filter(tenant_id=key.tenant_id, ended_at=None).exists():
        return Need("resealing", "The tenant's values are still being sealed anew.")
    wanted = {"tenant": key.tenant_id, "moment": ends}
    if rows("resealing/handed_out_before", wanted)[0][0]:
        return Need(
            "messages_in_flight",
            "Executions that were handed out before the rotation have not ended; their messages "
            "and outcomes may need the key.",
        )
    # Before the values are read: then what such a transaction has stored is among them.
    if rows("resealing/open_since_before", {"moment": ends})[0][0]:
        return Need(
            "key_overlaps",
            "A transaction from before the rotation has not ended, and may store values that have "
            "this key; try again when it has.",
        )
    if archives and (days := _archived_days(ends)):
        return Need(
            "archives",
            f"{days} days in the archive were written before the key was replaced and may need it. "
            "Retire it with --close-archives where what they have of the tenant may stay closed.",
        )
    header = header_of(key.id)
    for column in own_columns():
        if is_under(column, header):
            return Need(
                "values",
                f"Values in {column.title} have this key; seal them anew first (keys reseal).",
            )
    return None


def _archived_days(moment: datetime) -> int:
    """Return how many exported days may have values from before a moment."""
    if not conf().archive_dir:
        return 0
    last = moment.date().isoformat()
    found = {
        (path.parent.name, path.name[:10]) for path in parts.manifests(Path(conf().archive_dir))
    }
    return len({day for _, day in found if day <= last})
