"""The kinds of credentials that the API is called with, and what each of them may do."""

from __future__ import annotations

from dataclasses import dataclass

from tenants.choices import SCOPES

_ALL = frozenset(SCOPES)


@dataclass(frozen=True, kw_only=True)
class Rights:
    """What a kind of credentials allows, or the status of every answer."""

    scopes: frozenset[str] = frozenset()
    owner: bool = False
    expires: bool = False
    foreign: bool = False
    #: Without the right to see payloads.
    blind: bool = False
    refused_with: int = 0


#: Allows what is done about its own execution, and nothing else.
OWN_TOKEN = "the token of an execution"
_UNKNOWN, _FORBIDDEN = Rights(refused_with=401), Rights(refused_with=403)
#: Kind of credentials -> rights. "a foreign ..." is of another tenant, which is in good standing.
CREDENTIALS: dict[str, Rights] = {
    "no key": _UNKNOWN,
    "an unknown key": _UNKNOWN,
    "an expired key": _UNKNOWN,
    "a revoked key": _UNKNOWN,
    "a rotated key after its overlap": _UNKNOWN,
    "a suspended tenant's key": _FORBIDDEN,
    "a key for other addresses": _FORBIDDEN,
    "an owner's session of the console": _UNKNOWN,
    OWN_TOKEN: _UNKNOWN,
    "a foreign owner's key": Rights(scopes=_ALL, owner=True, foreign=True),
    "a foreign viewer's key": Rights(scopes=frozenset({"read"}), foreign=True),
    **{scope: Rights(scopes=frozenset({scope})) for scope in SCOPES},
    "read and operate without payloads": Rights(scopes=frozenset({"read", "operate"}), blind=True),
    "all but read": Rights(scopes=_ALL - {"read"}),
    "all scopes": Rights(scopes=_ALL),
    "a rotated key within its overlap": Rights(scopes=_ALL, expires=True),
    "an owner's key that expires": Rights(scopes=_ALL, owner=True, expires=True),
    "an owner's key": Rights(scopes=_ALL, owner=True),
    # A token ends; it never has the rights of an owner.
    **{f"a token: {scope}": Rights(scopes=frozenset({scope}), expires=True) for scope in SCOPES},
    "a token: all scopes": Rights(scopes=_ALL, expires=True),
    "a foreign tenant's token": Rights(scopes=_ALL, expires=True, foreign=True),
    "an expired token": _UNKNOWN,
    "a token of another issuer": _UNKNOWN,
    "a token for another audience": _UNKNOWN,
    "a token of a tenant not allowed": _UNKNOWN,
    "a token without a scope": _UNKNOWN,
    "a token that another has signed": _UNKNOWN,
    "a suspended tenant's token": _FORBIDDEN,
}
