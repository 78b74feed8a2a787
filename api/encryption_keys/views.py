"""``/v1/encryption-keys``: the data keys that seal what a tenant stores."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.encryption_keys.serializers import EncryptionKeysSerializer
from api.idempotency import idempotent
from api.protocol.views import PunctualView
from executions.resealing.passes import rotate
from insight.presentation.encryption_keys import present_encryption_keys
from shared.exceptions import Forbidden

_ADMIN = "admin"


class EncryptionKeysView(PunctualView):
    """The tenant's data keys."""

    scopes = {"GET": _ADMIN}

    @extend_schema(operation_id="list_encryption_keys", responses=EncryptionKeysSerializer)
    def get(self, request: Request) -> Response:
        """List the data keys, newest first, and show how far a rotation has come.

        No key itself is ever shown.
        """
        return Response(present_encryption_keys(self.tenant_id))


class RotateEncryptionKeyView(PunctualView):
    """Replace the data key."""

    scopes = {"POST": _ADMIN}
    seen_with = _ADMIN

    @extend_schema(
        operation_id="rotate_encryption_key",
        request=None,
        responses={202: EncryptionKeysSerializer},
    )
    @idempotent(required=False)
    def post(self, request: Request) -> Response:
        """Make a new data key, which seals from now on, and seal stored values anew under it.

        Only an owner's key may do it. The former key opens until an operator retires it. 409
        `resealing` while values are still being sealed anew; 409 `too_many_keys` while former keys
        have to be retired first.
        """
        if not self.caller.owner:
            raise Forbidden("Only an owner's key may rotate encryption keys.")
        rotate(self.tenant_id, actor=self.actor)
        return Response(present_encryption_keys(self.tenant_id), status=202)
