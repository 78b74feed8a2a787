"""What is told after a change of rights: apps above end what the lost right holds open."""

from __future__ import annotations

from uuid import UUID

from shared.followers import Followers

#: Told the id of a key that was edited, rotated or revoked.
of_keys: Followers[UUID] = Followers()
#: Told the id of a tenant of which a member has another right, or none.
of_members: Followers[UUID] = Followers()
