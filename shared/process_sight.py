"""Whether the one who asks may see the processes of the installation: hosts, versions, load.

They serve all tenants, so members and keys see only that there is capacity for their work.
Doors state it once for the request, as they do for payloads (:mod:`shared.payload_sight`). Commands
and the admin site see all.
"""

from __future__ import annotations

import re

from django.utils.crypto import salted_hmac

from shared.sight import Sight

#: How our own workers name themselves: name@host:pid, with random letters in newer versions.
_OWN = re.compile(r"[^@]*@.*:[0-9]+(-[0-9a-f]+)?", re.DOTALL)
_LETTERS = 8

_sight = Sight("processes_hidden")
sight, begin, end, is_hidden = _sight.within, _sight.begin, _sight.end, _sight.is_hidden


def shown_worker(worker: str) -> str:
    """Return the id of a worker as it may be seen here; that of a pull worker is the tenant's own.

    The same worker always has the same id, without the name of its host and process.
    """
    found = _OWN.fullmatch(worker) if is_hidden() else None
    return worker if found is None else _substitute(worker)


def shown_scheduler(name: str) -> str:
    """Return the name of a scheduler, name@host, as it may be seen here."""
    return _substitute(name) if is_hidden() and "@" in name else name


def _substitute(worker: str) -> str:
    name = worker.partition("@")[0] or "worker"
    digest = salted_hmac("punctual.shown_worker", worker, algorithm="sha256").hexdigest()
    return f"{name}-{digest[:_LETTERS]}"
