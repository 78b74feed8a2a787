"""``manage.py accounts``: let a locked-out person in, end sessions, unlink identities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import CommandParser
from django.db import transaction

from dashboard.one_time_login import login_path
from events import audit
from shared.actor import COMMAND
from shared.command_parser import Verb
from shared.commands import WRONG_USE, Error, PunctualCommand, VerbCommand, table
from shared.exceptions import NotFound
from tenants.choices import SignInEnd
from tenants.services.identities import list_identities, unlink_identity
from tenants.services.second_factors import reset_second_factor
from tenants.services.sign_ins import end_sign_ins

#: Columns of an identity.
_COLUMNS = ("id", "issuer", "subject", "email", "created_at", "used_at")


def _add_name(parser: CommandParser) -> None:
    parser.add_argument("name", help="name of the account")


def _add_identity(parser: CommandParser) -> None:
    _add_name(parser)
    parser.add_argument("identity", type=int, help="number of the identity, as identities lists it")


def _login_link(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    account = _account(options["name"])
    if not account.is_active:
        raise NotFound(f"The account {options['name']!r} is not active.")
    if not options["json"] and not command.stdout.isatty():
        # Collected output keeps what it gets, and the first reader of a link is signed in by it.
        raise Error(
            "A login link is shown on a terminal only. Run this in one, or give --json to a "
            "program that keeps no output.",
            returncode=WRONG_USE,
        )
    with transaction.atomic(durable=True):
        audit.record(audit.INSTALLATION, COMMAND, "user.login_link_made", "user", str(account.pk))
    minutes = settings.PASSWORD_RESET_TIMEOUT // 60
    url = settings.PUBLIC_URL + login_path(account)
    document = {"name": account.get_username(), "login_url": url, "minutes": minutes}
    command.emit(options, document, [url])
    command.note(f"It signs in once, within {minutes} minutes. A second factor is asked for.")


def _reset_second_factor(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    account = _account(options["name"])
    command.confirm(
        options,
        f"Reset the second factor of {account.get_username()!r}? All sessions of the account end, "
        "and the password alone signs in.",
    )
    with transaction.atomic(durable=True):
        ended = reset_second_factor(account.pk, actor=COMMAND)
    _emit(command, options, account, ended, "second factor reset")


def _end_sessions(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    account = _account(options["name"])
    command.confirm(options, f"End all sessions of {account.get_username()!r}?")
    with transaction.atomic(durable=True):
        ended = end_sign_ins(account.pk, SignInEnd.ENDED, actor=COMMAND)
    _emit(command, options, account, ended, "sessions ended")


def _identities(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    account = _account(options["name"])
    rows = [
        {column: getattr(one, column) for column in _COLUMNS} for one in list_identities(account.pk)
    ]
    lines = table(_COLUMNS, [[row[column] for column in _COLUMNS] for row in rows])
    command.emit(options, {"name": account.get_username(), "identities": rows}, lines)


def _unlink(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    account = _account(options["name"])
    command.confirm(
        options,
        f"Unlink an identity of {account.get_username()!r}? It signs in no longer, and all "
        "sessions of the account end.",
    )
    with transaction.atomic(durable=True):
        ended = unlink_identity(account.pk, options["identity"], actor=COMMAND, is_operator=True)
        ended += end_sign_ins(account.pk, SignInEnd.ENDED, actor=COMMAND)
    _emit(command, options, account, ended, "identity unlinked")


def _emit(
    command: PunctualCommand, options: Mapping[str, Any], account: User, ended: int, done: str
) -> None:
    name = account.get_username()
    document = {"name": name, "sessions_ended": ended}
    command.emit(options, document, [f"{name}: {done}, {ended} sessions were open"])


def _account(name: str) -> User:
    found = User.objects.filter(username=name).first()
    if found is None:
        raise NotFound(f"There is no account {name!r}.")
    return found


class Command(VerbCommand):
    """Login links, second factors, sessions and identities of people's accounts."""

    help = "Login links, second factors, sessions and identities of people's accounts."
    verbs: ClassVar[tuple[Verb, ...]] = (
        Verb(
            "login-link",
            "print a link that signs in once, within 15 minutes; on a terminal only",
            ("accounts login-link admin",),
            _login_link,
            _add_name,
        ),
        Verb(
            "reset-second-factor",
            "remove the second factor of a person who has lost it, and end their sessions",
            ("accounts reset-second-factor ada --yes",),
            _reset_second_factor,
            _add_name,
            dangerous=True,
        ),
        Verb(
            "end-sessions",
            "end all sessions of a person",
            ("accounts end-sessions ada --yes",),
            _end_sessions,
            _add_name,
            dangerous=True,
        ),
        Verb(
            "identities",
            "list the accounts at OpenID providers that sign in as this person",
            ("accounts identities ada",),
            _identities,
            _add_name,
        ),
        Verb(
            "unlink",
            "remove an identity of a person, and end their sessions",
            ("accounts unlink ada 4 --yes",),
            _unlink,
            _add_identity,
            dangerous=True,
        ),
    )
