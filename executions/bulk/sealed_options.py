"""What of a bulk job's options is sealed: a payload, the patch of a set, the URL of a replay.

The options themselves are readable at rest, and a copy of them stands in the audit log. So they
keep only what may be read; pages and calls show the rest from the sealed part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from executions.bulk import setting
from executions.bulk.items import Order
from executions.models import BulkJob
from shared.addresses import written_origin
from shared.encryption import DecryptionFailed, open_json, seal_json
from shared.sealing_contexts import bulk_payload_context
from tasks.masking import readable_target
from tasks.sealed_targets import ORIGIN


def split(job: BulkJob, given: Mapping[str, Any], *, whole: bool) -> None:
    """Give a job its options and its sealed part.

    Without ``whole`` as older versions did: with the addresses of a patch, and the URL of a replay.
    """
    options = dict(given)
    private: list[Any] = []
    if "payload" in options:
        private.append(options.pop("payload"))
    if "set" in options:
        private.append(options["set"])
        options["set"] = setting.masked(options["set"])
    if whole:
        private += [given["into"]] if "url" in (given.get("into") or {}) else []
        options = readable(options)
    job.options = options
    if private:
        context = bulk_payload_context(job.tenant_id, job.id)
        job.sealed_payload = seal_json(private[0], context)


def readable(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with the origin alone of each URL, and no arguments, headers or addresses."""
    found = dict(options)
    patch, into = found.get("set"), found.get("into")
    if isinstance(patch, Mapping) and isinstance(patch.get("target"), Mapping):
        found["set"] = {**patch, "target": readable_target(patch["target"])}
    if isinstance(into, Mapping) and isinstance(into.get("url"), str):
        found["into"] = readable_place(into)
    return found


def readable_place(into: Mapping[str, str]) -> dict[str, str]:
    """Return the place of a replay; of a URL its origin alone."""
    return {ORIGIN: written_origin(into["url"])} if "url" in into else dict(into)


def into_of(order: Order) -> Mapping[str, str] | None:
    """Return the place of a replay as it was given; None where its executions go to their own."""
    into: Mapping[str, str] | None = order.options.get("into")
    if into is None or ORIGIN not in into:
        return into
    found: Mapping[str, str] = order.override.payload if order.override else {}
    return found


def shown(job: BulkJob) -> dict[str, Any]:
    """Return the options as pages and calls show them: masked, whole where the sealed part opens.

    Otherwise the URL of a replay is its origin.
    """
    options = dict(job.options)
    patch, into = options.get("set"), options.get("into")
    if isinstance(into, Mapping) and ORIGIN in into:
        options["into"] = _opened(job) or {"url": into[ORIGIN]}
    elif isinstance(patch, Mapping) and ORIGIN in (patch.get("target") or {}):
        opened = _opened(job)
        rest = {key: value for key, value in patch["target"].items() if key != ORIGIN}
        options["set"] = {**patch, "target": rest} if opened is None else setting.masked(opened)
    return options


def has_payload(job: BulkJob) -> bool:
    """Return whether the sealed part of a job holds a payload, and not only the rest of options."""
    patch, into = job.options.get("set"), job.options.get("into")
    if job.sealed_payload is None or (isinstance(into, Mapping) and ORIGIN in into):
        return False
    return patch is None or "payload" in patch


def _opened(job: BulkJob) -> dict[str, Any] | None:
    if job.sealed_payload is None:
        return None
    context = bulk_payload_context(job.tenant_id, job.id)
    try:
        found = open_json(bytes(job.sealed_payload), context)
    except DecryptionFailed:
        return None
    return found if isinstance(found, dict) else None
