"""The OpenID providers that people of an installation sign in by: OIDC_PROVIDERS, read and judged.

Everything is an allow-list: algorithms, the domains whose addresses a provider is believed, and the
groups and domains that get an account. A value with any mistake is refused as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from shared.addresses import AllowList, TargetUrl, UrlError, parse_target_url
from shared.jwt_issuers import BY_KEY_SET
from shared.listed_settings import read_list, refuse_unknown

#: How the second factor of an account is treated at a sign-in by a provider.
ASK, TRUST = "ask", "trust"
#: Roles that a rule may give. An owner is made by an owner.
_ROLES = ("viewer", "operator", "admin")
_MOST = 100
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,29}")
_VISIBLE = re.compile(r"[!-~]{1,300}")
_DOMAIN = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+")
_LABEL_LENGTH = 60
_FIELDS = frozenset(
    "name label issuer client_id client_secret networks algorithms scopes email_domains "
    "second_factor groups_claim accounts".split()
)
_RULE_FIELDS = frozenset(("group", "domain", "tenant", "role"))


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountRule:
    """Who gets an account with which role in which tenant: a group's or a domain's people."""

    tenant_id: UUID
    role: str
    group: str = ""
    domain: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcProvider:
    """A provider; ``name`` is a part of its addresses here, ``issuer`` what its tokens say."""

    name: str
    label: str
    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    #: Networks (CIDR or CIDR:port) of the provider that are not public.
    networks: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ("RS256",)
    scopes: tuple[str, ...] = ("openid", "email", "profile")
    #: Domains whose verified addresses the provider is believed; none: no address counts.
    email_domains: tuple[str, ...] = ()
    #: ASK, TRUST, or the values of ``amr`` of which one takes the place of the second factor.
    second_factor: str | tuple[str, ...] = ASK
    #: Names of the members that lead to the groups, from the outside in.
    groups_claim: tuple[str, ...] = ("groups",)
    #: Empty: only accounts that are there sign in.
    accounts: tuple[AccountRule, ...] = ()

    def url(self, text: str) -> TargetUrl:
        """Return a URL of the provider as it may be called; raise UrlError.

        Plain HTTP is allowed only to a literal address that ``networks`` has, for tests.
        """
        allow = AllowList(self.networks)
        found = parse_target_url(text, allow, (443,))
        allowed = found.literal is not None and allow.allows(found.literal, found.port)
        if found.scheme != "https" and not allowed:
            raise UrlError("url_invalid", "The address must be https.")
        return found


class ProvidersInvalid(ValueError):
    """OIDC_PROVIDERS cannot be used; the message is a sentence without any secret."""


def read_or_problem(text: str) -> tuple[tuple[OidcProvider, ...], str]:
    """Return the providers, and the sentence that says why there are none; or an empty one."""
    try:
        return read_providers(text), ""
    except ProvidersInvalid as error:
        return (), str(error)


def read_providers(text: str) -> tuple[OidcProvider, ...]:
    """Return the providers of the setting; raise ProvidersInvalid."""
    given = read_list(text, "provider", _bad)
    if len(given) > _MOST:
        raise _bad("it must be a list of objects, one for each provider")
    found = tuple(_provider(one, f"entry {place}") for place, one in enumerate(given))
    for what in ("name", "issuer"):
        if len({getattr(one, what) for one in found}) < len(found):
            raise _bad(f"each `{what}` may stand once")
    return found


def _provider(given: Any, where: str) -> OidcProvider:
    if not isinstance(given, dict):
        raise _bad(f"{where} must be an object")
    refuse_unknown(given, _FIELDS, where, _bad)
    name = _text(given, "name", where, _NAME, "1 to 30 of a-z, 0-9 and -")
    label = given.get("label", name)
    if not isinstance(label, str) or not label.isprintable() or not 0 < len(label) <= _LABEL_LENGTH:
        raise _bad(f"{where}: `label` must be 1 to {_LABEL_LENGTH} printable characters")
    algorithms = _texts(given.get("algorithms", ["RS256"]), f"{where}: `algorithms`", least=1)
    if not set(algorithms) <= set(BY_KEY_SET):
        raise _bad(f"{where}: `algorithms` must be some of {', '.join(BY_KEY_SET)}")
    scopes = _texts(given.get("scopes", ["email", "profile"]), f"{where}: `scopes`")
    domains = _domains(given.get("email_domains", []), f"{where}: `email_domains`")
    made = OidcProvider(
        name=name,
        label=label,
        issuer=_text(given, "issuer", where, _VISIBLE, "an https address"),
        client_id=_text(given, "client_id", where, _VISIBLE, "1 to 300 visible characters"),
        client_secret=_secret(given, where),
        networks=_texts(given.get("networks", []), f"{where}: `networks`"),
        algorithms=algorithms,
        scopes=tuple(dict.fromkeys(("openid", *scopes))),
        email_domains=domains,
        second_factor=_second_factor(given.get("second_factor", ASK), where),
        groups_claim=_texts(given.get("groups_claim", "groups"), f"{where}: `groups_claim`", 1),
        accounts=_rules(given.get("accounts", []), domains, where),
    )
    _check_issuer(made, where)
    return made


def _check_issuer(made: OidcProvider, where: str) -> None:
    try:
        made.url(made.issuer)
    except UrlError as error:
        raise _bad(f"{where}: `issuer`: {error.message}") from error
    except ValueError as error:
        raise _bad(f"{where}: `networks`: {error}") from error
    if "?" in made.issuer or "#" in made.issuer:
        raise _bad(f"{where}: `issuer` must have neither query nor fragment")


def _secret(given: Mapping[str, Any], where: str) -> str:
    if "client_secret" not in given:
        return ""
    secret = given["client_secret"]
    if not isinstance(secret, str) or not _VISIBLE.fullmatch(secret):
        raise _bad(f"{where}: `client_secret` must be 1 to 300 visible characters, or left out")
    return secret


def _second_factor(given: Any, where: str) -> str | tuple[str, ...]:
    if given in (ASK, TRUST):
        return str(given)
    if isinstance(given, str):
        raise _bad(f"{where}: `second_factor` must be {ASK!r}, {TRUST!r} or a list of `amr` values")
    return _texts(given, f"{where}: `second_factor`", least=1)


def _rules(given: Any, domains: Sequence[str], where: str) -> tuple[AccountRule, ...]:
    if not isinstance(given, list) or len(given) > _MOST:
        raise _bad(f"{where}: `accounts` must be a list of rules")
    if given and not domains:
        raise _bad(f"{where}: `accounts` needs `email_domains`: a new account has an address")
    return tuple(_rule(one, domains, f"{where}: rule {n}") for n, one in enumerate(given))


def _rule(given: Any, domains: Sequence[str], where: str) -> AccountRule:
    if not isinstance(given, dict):
        raise _bad(f"{where} must be an object")
    refuse_unknown(given, _RULE_FIELDS, where, _bad)
    if ("group" in given) == ("domain" in given):
        raise _bad(f"{where}: give either `group` or `domain`")
    try:
        tenant_id = UUID(given.get("tenant"))
    except (ValueError, TypeError, AttributeError) as error:
        raise _bad(f"{where}: `tenant` must be the id of a tenant") from error
    if given.get("role") not in _ROLES:
        raise _bad(f"{where}: `role` must be one of {', '.join(_ROLES)}")
    group, domain = given.get("group", ""), given.get("domain", "")
    if "group" in given and not (isinstance(group, str) and 0 < len(group) <= 300):
        raise _bad(f"{where}: `group` must be a text")
    if "domain" in given and domain not in domains:
        raise _bad(f"{where}: `domain` must be one of `email_domains`")
    return AccountRule(tenant_id=tenant_id, role=given["role"], group=group, domain=domain)


def _text(
    given: Mapping[str, Any], name: str, where: str, form: re.Pattern[str], words: str
) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not form.fullmatch(value):
        raise _bad(f"{where}: `{name}` must be {words}")
    return value


def _domains(given: Any, what: str) -> tuple[str, ...]:
    found = _texts(given, what)
    if not all(_DOMAIN.fullmatch(one) for one in found):
        raise _bad(f"{what} must be domains in lower case, such as example.com")
    return found


def _texts(given: Any, what: str, least: int = 0) -> tuple[str, ...]:
    listed = [given] if isinstance(given, str) else given
    if (
        not isinstance(listed, list)
        or not least <= len(listed) <= _MOST
        or not all(isinstance(one, str) and _VISIBLE.fullmatch(one) for one in listed)
    ):
        raise _bad(f"{what} must be a list of texts without blanks")
    return tuple(listed)


def _bad(what: str) -> ProvidersInvalid:
    return ProvidersInvalid(f"OIDC_PROVIDERS: {what}.")
