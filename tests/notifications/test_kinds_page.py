"""The reference page tells the kinds of alerts as they are."""

from __future__ import annotations

from notifications.alert_kinds import KINDS
from notifications.choices import ALERT_KINDS
from notifications.kinds_page import kinds_table
from tests.architecture import tree


def test_the_page_has_the_table_of_kinds() -> None:
    page = (tree.REPOSITORY / "docs/reference/alerts.md").read_text(encoding="utf-8")

    assert kinds_table() in page, f"The table should be:\n\n{kinds_table()}"


def test_every_kind_of_alert_has_its_facts() -> None:
    assert set(KINDS) == set(ALERT_KINDS)
    assert all(
        number.least <= number.default <= number.most
        for facts in KINDS.values()
        for number in (facts.threshold, facts.window)
        if number
    )
