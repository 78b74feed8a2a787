"""Whether a verified caller may make this call: scopes by method, stated by the view."""

from __future__ import annotations

from typing import Any, cast

from rest_framework.exceptions import NotAuthenticated
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from api.protocol.authentication import Credentials
from shared.exceptions import Forbidden


class HasScope(BasePermission):
    """Let a key pass that has the scope which the view asks of the method.

    The view states them in ``scopes = {"GET": "read", "POST": "operate"}``. By default safe
    methods need ``read`` and others ``write``. None lets any valid key pass.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        """Raise NotAuthenticated (401) or Forbidden (403); return True otherwise."""
        if request.auth is None:
            raise NotAuthenticated
        needed = required_scope(view, request.method or "GET")
        caller = cast(Credentials, request.auth)
        if needed is not None and needed not in caller.scopes:
            raise Forbidden(f"This call needs a key with the scope {needed!r}.")
        return True


def required_scope(view: Any, method: str) -> str | None:
    """Return the scope that the view asks for this method."""
    method = "GET" if method == "HEAD" else method
    default = "read" if method in SAFE_METHODS else "write"
    scopes: dict[str, str | None] = getattr(view, "scopes", {})
    return scopes.get(method, default)
