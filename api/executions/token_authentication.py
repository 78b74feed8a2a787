"""The execution's own token at the REST edge: ``X-Execution-Token``, and no other credential.

It proves that its bearer was handed this one execution under one fencing token. A token of another
execution or of another installation gets the same 401 as a made-up one, whether the execution
exists or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from executions.external import callbacks
from shared import execution_tokens

_REFUSED = "Give the execution's own token as `X-Execution-Token`."
_MAX_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Holder:
    """The program that was handed the execution under this fencing token."""

    fencing_token: int
    is_authenticated: bool = True


class ExecutionTokenAuthentication(BaseAuthentication):
    """Verify the token for the execution that the URL names."""

    def authenticate(self, request: Request) -> tuple[Holder, None]:
        """Return the holder as user; raise AuthenticationFailed for every other caller."""
        token = request.META.get("HTTP_X_EXECUTION_TOKEN", "").strip()
        execution_id = str(request.parser_context["kwargs"]["execution_id"])
        if not 0 < len(token) <= _MAX_LENGTH or not token.isascii():
            raise AuthenticationFailed(_REFUSED)
        fencing_token = execution_tokens.verify(token, execution_id)
        if fencing_token is None:
            raise AuthenticationFailed(_REFUSED)
        callbacks.enter_tenant_of(UUID(execution_id))
        return Holder(fencing_token), None

    def authenticate_header(self, request: Request) -> str:
        """Return the challenge of a 401."""
        return "X-Execution-Token"


class HoldsToken(BasePermission):
    """Let the holder pass; authentication has verified its token."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Return whether a token was verified."""
        return isinstance(request.user, Holder)


class ExecutionTokenScheme(OpenApiAuthenticationExtension):
    """How the OpenAPI document describes the tokens."""

    target_class = "api.executions.token_authentication.ExecutionTokenAuthentication"
    name = "executionToken"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        """Return the security scheme."""
        return {"type": "apiKey", "in": "header", "name": "X-Execution-Token"}
