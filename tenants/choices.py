"""The enums that tenants store."""

from __future__ import annotations

from django.db import models

#: Permissions of a key, stored as an array of these words; none implies another.
SCOPES = ("read", "write", "operate", "worker", "admin")
#: Scopes of keys that always see payloads: they lease them, or decide where payloads are sent.
SCOPES_THAT_SEE = ("write", "worker", "admin")


class Role(models.TextChoices):
    """What a member may do: look, act on executions, change definitions, own the tenant."""

    VIEWER = "viewer", "Viewer"
    OPERATOR = "operator", "Operator"
    ADMIN = "admin", "Admin"
    OWNER = "owner", "Owner"

    @property
    def rank(self) -> int:
        """The place of the role: a higher one may do more."""
        return list(Role).index(self)


#: Roles that always see payloads: they decide where payloads are sent.
ROLES_THAT_SEE = (Role.ADMIN, Role.OWNER)


def sees_by_default(role: str) -> bool:
    """Return whether a new member of the role sees payloads, unless the inviter says otherwise."""
    return role != Role.VIEWER


class SignInMethod(models.TextChoices):
    """The first proof by which a session began."""

    PASSWORD = "password", "Password"
    LINK = "link", "One-time link"
    INVITATION = "invitation", "Invitation"
    OIDC = "oidc", "OpenID provider"
    #: Whose second factor takes the place of ours.
    OIDC_MFA = "oidc_mfa", "OpenID provider, with its second factor"


class SignInEnd(models.TextChoices):
    """The reason of a session's end."""

    SIGNED_OUT = "signed_out", "Signed out"
    ENDED = "ended", "Ended by the person or an operator"
    PASSWORD = "password", "The password was changed"
    FACTOR = "factor", "The second factor was changed"
    EXPIRED = "expired", "Unused for too long, or too old"
    REPLACED = "replaced", "Too many sessions at once"


class SavedList(models.TextChoices):
    """A list of the console whose views can be saved."""

    EXECUTIONS = "executions", "Executions"
    TASKS = "tasks", "Tasks"
    DEAD_LETTERS = "dead_letters", "Dead letters"
