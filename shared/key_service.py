"""The master key, behind the small interface that wraps and unwraps the data keys of tenants.

``KEY_SERVICE`` names the class in use, by default the one that has its keys from ENCRYPTION_KEYS:
the environment, a file (``ENCRYPTION_KEYS_FILE``) or the data directory. A class of another name,
for a key service outside, has the methods of :class:`KeyService` and takes no arguments. It unwraps
a data key once in each process, for as long as the key is kept in the process's cache.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Protocol
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from shared.sealing_contexts import data_key_context

DEFAULT = "shared.key_service.ConfiguredKeys"


class KeyService(Protocol):
    """Wraps data keys under a master key. A wrapped key opens for its tenant and id only."""

    def wrap(self, secret: bytes, tenant: str, key_id: UUID) -> bytes:
        """Return the data key wrapped under the active master key, 1 to 1,000 bytes."""

    def unwrap(self, wrapped: bytes, tenant: str, key_id: UUID) -> bytes:
        """Return the data key; raise ``shared.encryption.DecryptionFailed`` where it cannot."""

    def master_of(self, wrapped: bytes) -> str:
        """Return the id of the master key that has wrapped it."""

    def active_master(self) -> str:
        """Return the id of the master key that wraps."""


class ConfiguredKeys:
    """Wraps by the keys of ENCRYPTION_KEYS, of which the first is active."""

    def wrap(self, secret: bytes, tenant: str, key_id: UUID) -> bytes:
        """Return the data key sealed under the active key."""
        # Inside: values are sealed by data keys, and data keys are unwrapped here.
        from shared.encryption import seal

        return seal(secret, data_key_context(tenant, key_id))

    def unwrap(self, wrapped: bytes, tenant: str, key_id: UUID) -> bytes:
        """Return the data key; raise DecryptionFailed where no configured key opens it."""
        from shared.encryption import open_sealed

        return open_sealed(wrapped, data_key_context(tenant, key_id))

    def master_of(self, wrapped: bytes) -> str:
        """Return the id of the key in ENCRYPTION_KEYS that has sealed it."""
        from shared.encryption import key_id_of

        return key_id_of(wrapped)

    def active_master(self) -> str:
        """Return the id of the first key of ENCRYPTION_KEYS; '' without one."""
        from shared.encryption import active_key_id

        return active_key_id()


def key_service() -> KeyService:
    """Return the key service in use; raise ImproperlyConfigured where KEY_SERVICE names none."""
    return _made(getattr(settings, "KEY_SERVICE", DEFAULT))


@lru_cache(maxsize=4)
def _made(path: str) -> KeyService:
    module, _, name = path.rpartition(".")
    try:
        found: KeyService = getattr(import_module(module), name)()
    except (ImportError, AttributeError, ValueError) as error:
        raise ImproperlyConfigured(f"KEY_SERVICE names no class: {path!r} ({error}).") from error
    return found
