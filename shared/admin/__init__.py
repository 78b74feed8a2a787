"""The admin's building blocks: lists without counts, actions through services, links home."""

from __future__ import annotations

from shared.admin.keyset import KeysetChangeList
from shared.admin.model_admin import ProductAdmin, actor_of, link
from shared.admin.site import label_site
from shared.admin.verbs import NoteForm, Verb, admin_action

__all__ = [
    "KeysetChangeList",
    "NoteForm",
    "ProductAdmin",
    "Verb",
    "actor_of",
    "admin_action",
    "link",
]

label_site()
