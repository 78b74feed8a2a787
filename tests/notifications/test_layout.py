"""Content laid out for its channel."""

from __future__ import annotations

from notifications.layout import mail_of
from notifications.message_content import Content
from shared.ids import new_id

CONTENT = Content(
    subject="[failed] x",
    headline="x: HTTP 503",
    summary="No attempt is left.",
    facts=[("Task", "x & y")],
    attempts=[],
    response="",
    next_step="Put it right.",
    links=[("Execution", "https://punctual.example/executions/1")],
    unsubscribe_url="https://punctual.example/notifications/unsubscribe/t",
    url="https://punctual.example/executions/1",
    count=1,
)


def test_a_mail_has_everything_in_both_forms() -> None:
    mail = mail_of(CONTENT, "ada@example.com", "<1@x>", new_id())

    assert "Task: x & y" in mail.text
    assert "x &amp; y" in mail.html
    for part in ("No attempt is left.", "Put it right.", CONTENT.url, CONTENT.unsubscribe_url):
        assert part in mail.text
        assert part in mail.html
    assert "Attempts" not in mail.text
