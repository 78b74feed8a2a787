"""The enums that tenants store."""

from __future__ import annotations

from django.db import models

#: Permissions of a key, stored as an array of these words; none implies another.
SCOPES = ("read", "write", "operate", "worker", "admin")


class Role(models.TextChoices):
    """What a member may do: look, act on executions, change definitions, own the tenant."""

    VIEWER = "viewer", "Viewer"
    OPERATOR = "operator", "Operator"
    ADMIN = "admin", "Admin"
    OWNER = "owner", "Owner"
