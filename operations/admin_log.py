"""Takes the names of a tenant's rows out of the log that Django's admin keeps."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ValidationError

from tenants.models import Tenant

_ERASED = "erased"
_BATCH = 1000


def blank_admin_log(tenant: Tenant) -> int:
    """Blank the entries about the tenant and its rows; return how many there were.

    Call it while the rows are there: an entry names a row, not its tenant.
    """
    return sum(_blank(model, tenant) for model in _models())


def _models() -> list[Any]:
    """Return the models that a tenant has rows of and the admin shows."""
    shown = admin.site._registry
    return [
        model
        for model in shown
        if model is Tenant or any(one.attname == "tenant_id" for one in model._meta.concrete_fields)
    ]


def _blank(model: Any, tenant: Tenant) -> int:
    kind = ContentType.objects.get_for_model(model)
    entries = LogEntry.objects.filter(content_type=kind).exclude(object_repr=_ERASED)
    logged = list(entries.values_list("object_id", flat=True).distinct())
    own = {"pk": tenant.pk} if model is Tenant else {"tenant_id": tenant.pk}
    rows = model._base_manager.filter(**own)
    blanked = 0
    for begin in range(0, len(logged), _BATCH):
        # By their keys as they are stored: compared as texts, each row of the tenant would be read.
        texts = _by_key(model, logged[begin : begin + _BATCH])
        ids = [texts[key] for key in rows.filter(pk__in=list(texts)).values_list("pk", flat=True)]
        found = entries.filter(object_id__in=ids)
        blanked += found.update(object_repr=_ERASED, change_message="")
    return blanked


def _by_key(model: Any, texts: Iterable[str | None]) -> dict[Any, str]:
    """Return the keys of rows, each with the text that an entry has; nothing for another text."""
    found = {}
    for text in texts:
        with suppress(ValidationError):
            found[model._meta.pk.to_python(text)] = text or ""
    found.pop(None, None)
    return found
