"""Row security, the second wall between tenants: roles, grants and policies of the database.

The web process logs in as a role of its own, which owns nothing and is subject to the policies:
without a tenant it sees no row of any tenant, and with one only that tenant's (the session is bound
by ``shared.postgresql``). To cross tenants for one of the purposes of ``shared.tenant_scope`` it
changes to a second role, whose policies name the purposes table by table. The loops log in
as a third role, which crosses tenants by BYPASSRLS and has plans as without row security, but owns
nothing. Commands use the owner.

``grants`` and ``loop_grants`` list what web and loops may do with each table, ``policies`` derives
the policies from the catalogue. ``making`` and ``loops`` bring a database to that state, ``state``
and ``loops`` tell whether it is there.
"""
