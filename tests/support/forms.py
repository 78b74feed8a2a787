"""The task form as a browser sends it."""

from __future__ import annotations

from django.test import Client


def form_at(client: Client, path: str, **changes: str) -> dict[str, str]:
    """Return what a browser would send from the form at the path."""
    context = client.get(path).context
    fields = {**context["fields"], "form_key": "a-form", **changes}
    for name in ("version", "base_of"):
        if context[name]:
            fields[name] = str(context[name])
    return {name: value for name, value in fields.items() if value is not None}
