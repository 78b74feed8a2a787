from __future__ import annotations

from insight.metrics.catalogue import METRICS
from insight.metrics.page import render_metrics
from tests.architecture import tree

PAGE = tree.REPOSITORY / "docs" / "reference" / "metrics.md"
WRITE = (
    "run: python manage.py shell --no-imports -c "
    "'from insight.metrics.page import render_metrics as r; print(r(), end=\"\")' "
    "> docs/reference/metrics.md"
)


def test_the_reference_page_is_what_the_catalogue_says():
    assert PAGE.read_text(encoding="utf-8") == render_metrics(), WRITE


def test_the_page_has_a_part_for_each_metric():
    lines = render_metrics().splitlines()

    assert [line[3:] for line in lines if line.startswith("## ")] == [one.name for one in METRICS]
