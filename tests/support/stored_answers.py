"""What the answers say that are stored for repeated calls."""

from __future__ import annotations

import gzip

from shared.encryption import open_sealed
from shared.sealing_contexts import idempotency_context
from tenants.models import IdempotencyRecord


def stored_answers() -> str:
    """Return the bodies of all stored answers, opened, and their headers."""
    parts = []
    for record in IdempotencyRecord.objects.order_by("pk"):
        context = idempotency_context(record.tenant_id, record.key)
        body = open_sealed(bytes(record.sealed_body), context)
        if "Content-Encoding" in record.headers:
            body = gzip.decompress(body)
        parts.append(f"{body.decode()} {record.headers}")
    return "\n".join(parts)
