"""A browser of the admin that a test logs in and reads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import unescape
from typing import Any

from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse


class AdminBrowser:
    """Reads lists and carries out actions as one user."""

    def __init__(self, user: User) -> None:
        self.user = user
        self.client = Client()
        self.client.force_login(user)

    def list(self, model: Any, **query: str) -> Any:
        return self.client.get(_list_path(model), query)

    def page(self, row: Any) -> Any:
        name = f"admin:{row._meta.app_label}_{row._meta.model_name}_change"
        return self.client.get(reverse(name, args=[row.pk]))

    def act(self, model: Any, action: str, rows: Iterable[Any], **fields: str) -> Any:
        """Choose an action over rows of the list."""
        chosen = [str(row.pk) for row in rows]
        return self.client.post(
            _list_path(model), {"action": action, "_selected_action": chosen, **fields}
        )

    def confirm(self, model: Any, action: str, rows: Iterable[Any], **fields: str) -> Any:
        """Choose an action and say yes to what it asks."""
        return self.act(model, action, rows, confirmed="yes", **fields)


def make_admin() -> AdminBrowser:
    return AdminBrowser(User.objects.create_superuser("root"))


def said(answer: Any) -> str:
    """Return the answer's message; those of earlier answers, which nobody read, come before it."""
    return str([*get_messages(answer.wsgi_request)][-1].message)


def text_of(answer: Any) -> str:
    """Return the page's words without its markup."""
    without_tags = re.sub(r"<[^>]*>", " ", answer.content.decode())
    return " ".join(unescape(without_tags).split())


def _list_path(model: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
