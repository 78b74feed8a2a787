"""``manage.py roles``: the database roles of web and loops, and the policies of row security.

Exit codes: 0 done; 1 something is wrong; 2 wrong use; 4 the role cannot be made; 5 no database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django.conf import settings

from events import audit
from operations.database_roles.loops import LoopsMade, make_loops_role, read_loops_state
from operations.database_roles.making import Made, make_roles
from operations.database_roles.state import read_state
from shared.actor import COMMAND
from shared.command_parser import Verb
from shared.commands import FAILED, WRONG_USE, Error, VerbCommand
from shared.tenant_scope import across_of

_NO_ADDRESS = (
    "Neither WEB_DATABASE_URL nor LOOPS_DATABASE_URL is set: they name the roles of the web "
    "process and of the loops, and their passwords. See docs/howto/protect-the-database.md."
)


def _show(command: Any, options: Mapping[str, Any]) -> None:
    web = read_state(settings.WEB_DATABASE_URL)
    loops = read_loops_state(settings.LOOPS_DATABASE_URL)
    document = {
        "role": web.role or None,
        "secured_tables": web.secured,
        "problems": list(web.problems),
        "loops": {"role": loops.role or None, "problems": list(loops.problems)},
    }
    first = "The web process uses the owner's role: no row security."
    if web.role:
        first = f"{web.role}: row security on {web.secured} tables of tenants"
    second = "Schedulers, recorders and system workers use the owner's role."
    if loops.role:
        second = f"{loops.role}: schedulers, recorders and system workers, which own nothing"
    lines = [first, *_told(web.problems), second, *_told(loops.problems)]
    command.emit(options, document, lines)
    if web.problems or loops.problems or not (web.role and loops.role):
        command.leave(FAILED)


def _told(problems: Sequence[str]) -> list[str]:
    return [f"  ✘ {problem}" for problem in problems]


def _make(command: Any, options: Mapping[str, Any]) -> None:
    web, loops = settings.WEB_DATABASE_URL, settings.LOOPS_DATABASE_URL
    if not (web or loops):
        raise Error(_NO_ADDRESS, returncode=WRONG_USE)
    of_web = make_roles(web) if web else Made()
    of_loops = make_loops_role(loops, web) if loops else LoopsMade()
    role = read_state(web).role
    role_of_loops = read_loops_state(loops).role
    grants = [*of_web.grants, *of_loops.grants]
    document = {
        "role": role or None,
        "loops_role": role_of_loops or None,
        "made": [*of_web.roles, *of_loops.roles],
        "policies": len(of_web.policies),
        "grants": len(grants),
    }
    changed = bool(document["made"] or of_web.policies or grants)
    if changed:
        facts = {"policies": len(of_web.policies), "loops": role_of_loops}
        audit.record_of_installation(
            COMMAND, "roles.made", "database_role", role or role_of_loops, **facts
        )
    names = [*([role, across_of(role)] if role else []), *([role_of_loops] if loops else [])]
    line = f"{', '.join(names)}: {len(of_web.policies)} policies and {len(grants)} grants changed."
    command.emit(options, document, [line if changed else "Nothing to change."])


class Command(VerbCommand):
    """Show and make the database roles of the web process and of the loops."""

    help = "Show and make the database roles of web and loops: row security, and no ownership."
    verbs: ClassVar[tuple[Verb, ...]] = (
        Verb("show", "the roles and what is wrong with them; exit code 1", ("roles show",), _show),
        Verb("make", "make the roles, their grants and the policies", ("roles make",), _make),
    )
