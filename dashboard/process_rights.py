"""Who may see the processes of the installation, and who may act on them, by the account."""

from __future__ import annotations

from django.contrib.auth.models import User

#: What staff need to see processes, in the admin and in the console.
_TO_SEE = ("executions.view_schedulernode", "executions.view_workerminute")
#: What staff need besides to make workers quiet and to drain them.
_TO_ACT = ("executions.change_schedulernode", "executions.change_workerminute")
#: What people without it are told.
FOR_OPERATORS = (
    "Workers serve all tenants. Operators of the installation act on them: superusers, and staff "
    "that may view and change schedulers and workers."
)


def sees_processes(user: User) -> bool:
    """Return whether a person may see processes in the admin, too: staff need the permissions."""
    return user.is_superuser or (user.is_staff and user.has_perms(_TO_SEE))


def runs_processes(user: User) -> bool:
    """Return whether a person may act on workers; that all may see processes is not enough."""
    return user.is_superuser or (user.is_staff and user.has_perms((*_TO_SEE, *_TO_ACT)))
