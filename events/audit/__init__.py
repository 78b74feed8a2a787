"""The audit log of every change: append in the change's transaction, verify the chain.

Services call :func:`record` last, because it locks the tenant's chain until the transaction
ends. Each entry authenticates the entry before it under a key that no database holds, so
:func:`verify` finds an entry that was altered, removed, moved or cut off, and a history that was
written anew. Payloads and secrets do not belong here and are masked. A change that people watch
on the console also appends an event ``<kind>.changed``.

``keys`` has the keys, ``links`` the authenticated form of an entry, ``writing`` appends,
``verifying`` verifies, ``heads`` keeps the ends of chains in files, ``listing`` reads.
"""

from __future__ import annotations

from events.audit.verifying import verify
from events.audit.writing import (
    INSTALLATION,
    Change,
    Recording,
    record,
    record_many,
    record_of_installation,
    recording,
)

__all__ = [
    "INSTALLATION",
    "Change",
    "Recording",
    "record",
    "record_many",
    "record_of_installation",
    "recording",
    "verify",
]
