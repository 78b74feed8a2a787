"""A mail as transports are given it."""

from __future__ import annotations

from notifications.transports.email import Mail

MAIL = Mail(
    to="ada@example.com",
    subject="[failed] Grüße: HTTP 503",
    text="It failed.",
    html="<p>It failed.</p>",
    message_id="<one@punctual.example>",
    thread_id="<alert.one@punctual.example>",
    unsubscribe_url="https://punctual.example/notifications/unsubscribe/token",
)
