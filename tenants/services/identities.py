"""Find the account that an identity of an OpenID provider signs in to, link it, or make it.

An account is found by issuer and subject. The first time, it is the account with the identity's
address, if the provider is believed that address; else a rule of the provider may make one. An
account is never linked by anything that a person may set at a provider without proof.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Q

from events import audit
from shared import database_clock, tenant_scope
from shared.actor import Actor
from shared.exceptions import Conflict, Forbidden, InvalidInput, NotFound
from shared.oidc_providers import AccountRule, OidcProvider
from shared.tenant_scope import Purpose
from tenants.choices import Role
from tenants.models import Identity, Tenant
from tenants.services.accounts import describe_account, record_change
from tenants.services.invitations import read_address
from tenants.services.memberships import set_member
from tenants.services.sign_ins import end_sign_ins_by_provider

#: Identities of one account.
MOST_IDENTITIES = 20
_MOST_GROUPS = 2000


class NoAccount(Forbidden):
    """No account here belongs to this identity; ask an admin of your team for an invitation."""

    code = "no_account"


@dataclass(frozen=True, slots=True)
class Proven:
    """What a provider has signed about a person."""

    provider: OidcProvider
    subject: str
    #: Empty unless the provider says that it has verified the address.
    email: str = ""
    groups: tuple[str, ...] = ()


def account_of(proven: Proven, *, actor: Actor) -> User:
    """Return the account of :func:`identity_of`."""
    user: User = identity_of(proven, actor=actor).user
    return user


@transaction.atomic
def identity_of(proven: Proven, *, actor: Actor) -> Identity:
    """Return the identity with the active account that it signs in to; the first time, link it.

    An account may be made for it. Raise NoAccount where there is none, and where it is deactivated.
    """
    known = Identity.objects.select_related("user").filter(
        issuer=proven.provider.issuer, subject=proven.subject
    )
    found = known.first()
    if found is None:
        found = _link(proven, _account_for(proven, actor), actor)
    if not found.user.is_active:
        raise NoAccount
    if not Identity.objects.filter(pk=found.pk).update(used_at=database_clock.now()):
        # The race: it has just been unlinked.
        raise NoAccount
    return found


def is_linked(identity_id: int, user_id: int) -> bool:
    """Return whether the identity still signs in to the account."""
    return Identity.objects.filter(pk=identity_id, user_id=user_id).exists()


def list_identities(user_id: int) -> list[Identity]:
    """Return the person's identities, oldest first."""
    return list(Identity.objects.filter(user_id=user_id).order_by("pk")[:MOST_IDENTITIES])


@transaction.atomic
def unlink_identity(
    user_id: int,
    identity_id: int,
    *,
    actor: Actor,
    is_operator: bool = False,
    but: UUID | None = None,
) -> int:
    """Remove an identity of the person; it signs in no longer. Raise NotFound.

    A sign-in under way by it ends, and so do the person's sessions that began by a provider, but
    the session ``but``. Return how many sessions ended.

    Raise Conflict for the last one of an account without a password, unless an operator asks: the
    person would have no other way to sign in.
    """
    account = User.objects.select_for_update(no_key=True).filter(pk=user_id).first()
    found = Identity.objects.filter(pk=identity_id, user_id=user_id).first()
    if account is None or found is None:
        raise NotFound("There is no such identity.")
    is_last = not account.has_usable_password() and account.identities.count() == 1
    if is_last and not is_operator:
        raise Conflict("This account has no other way to sign in; an operator can unlink it.")
    # Before the sessions end: one that begins meanwhile waits for the row, and finds it gone.
    found.delete()
    _record(user_id, "user.identity_unlinked", found, actor)
    return end_sign_ins_by_provider(user_id, actor=actor, but=but)


def believed_address(proven: Proven) -> str:
    """Return the address in lower case, if the provider is believed it; else an empty text."""
    try:
        address = read_address(proven.email)
    except InvalidInput:
        return ""
    return address if address.rpartition("@")[2] in proven.provider.email_domains else ""


def rules_of(proven: Proven, address: str) -> list[AccountRule]:
    """Return the rules that the identity meets."""
    domain, groups = address.rpartition("@")[2], set(proven.groups[:_MOST_GROUPS])
    return [
        rule
        for rule in proven.provider.accounts
        if (rule.group and rule.group in groups) or (rule.domain and rule.domain == domain)
    ]


def _account_for(proven: Proven, actor: Actor) -> User:
    address = believed_address(proven)
    if not address:
        raise NoAccount
    # The name is also the address of accounts that invitations make. One that matches by either,
    # but not by the address alone, is another person's until an operator says otherwise.
    accounts = User.objects.select_for_update(no_key=True).order_by("pk")
    same = list(accounts.filter(Q(email__iexact=address) | Q(username__iexact=address))[:2])
    if not same:
        return _make(proven, address, actor)
    [account, *others] = same
    if others or account.email.lower() != address or not _may_link(account):
        raise NoAccount
    if account.identities.filter(issuer=proven.provider.issuer).exists():
        # An issuer has one subject for a person: another one got the address after them.
        raise NoAccount("This address belongs to another identity already; an operator unlinks it.")
    return account


def _may_link(account: User) -> bool:
    """Return whether an address is enough: not for operators, whose rights reach every tenant."""
    return account.is_active and not account.is_staff and not account.is_superuser


def _make(proven: Proven, address: str, actor: Actor) -> User:
    rules = rules_of(proven, address)
    with tenant_scope.across(Purpose.SIGN_IN):
        tenants = list(
            Tenant.objects.filter(pk__in={rule.tenant_id for rule in rules}, suspended_at=None)
        )
    wanted = _highest(rules, {tenant.pk for tenant in tenants})
    if not wanted:
        raise NoAccount
    account = User(username=address, email=address)
    account.set_unusable_password()
    try:
        with transaction.atomic():
            account.save()
    except IntegrityError as error:
        # The race: two sign-ins of one person at once. The next one finds the account.
        raise NoAccount("This account has just been made: sign in again.") from error
    record_change("user", account.pk, None, describe_account(account), actor=actor)
    # In one order: two providers whose rules name the same tenants must not wait for each other.
    for tenant_id, role in sorted(wanted.items()):
        with tenant_scope.scoped(tenant_id):
            set_member(tenant_id, account.pk, role, actor=actor)
    return account


def _highest(rules: Iterable[AccountRule], tenants: set[Any]) -> dict[Any, Role]:
    """Return the highest role that the rules give in each of these tenants."""
    found: dict[Any, Role] = {}
    for rule in rules:
        role, held = Role(rule.role), found.get(rule.tenant_id)
        if rule.tenant_id in tenants and (held is None or role.rank > held.rank):
            found[rule.tenant_id] = role
    return found


def _link(proven: Proven, account: User, actor: Actor) -> Identity:
    if account.identities.count() >= MOST_IDENTITIES:
        raise NoAccount("This account has too many identities: unlink one first.")
    made = Identity(
        user=account,
        issuer=proven.provider.issuer,
        subject=proven.subject,
        email=believed_address(proven),
        created_at=database_clock.now(),
    )
    try:
        with transaction.atomic():
            made.save()
    except IntegrityError as error:
        raise NoAccount("Another sign-in has just linked this identity: sign in again.") from error
    _record(account.pk, "user.identity_linked", made, actor)
    return made


def _record(user_id: int, action: str, identity: Identity, actor: Actor) -> None:
    facts = {"issuer": identity.issuer, "subject": identity.subject}
    audit.record(audit.INSTALLATION, actor, action, "user", str(user_id), after=facts)
