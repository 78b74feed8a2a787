"""Template tags that draw: each passes ready values on to dashboard/pictures.

Templates decide the place of a picture, never its content.
"""

from __future__ import annotations

from django import template

from dashboard.pictures.badge import state_badge
from dashboard.pictures.budget import budget_bars
from dashboard.pictures.dag import dag
from dashboard.pictures.day_map import day_map
from dashboard.pictures.delays import delay_histogram, delay_strip
from dashboard.pictures.fires import fire_histogram
from dashboard.pictures.gantt import gantt
from dashboard.pictures.heat_map import heat_map
from dashboard.pictures.partition_map import partition_map
from dashboard.pictures.run_grid import run_grid
from dashboard.pictures.run_strip import run_strip
from dashboard.pictures.small import gauge, sparkline
from dashboard.pictures.state_path import state_path
from dashboard.pictures.task_history import percentile_bars, share_text, success_bars
from dashboard.pictures.throughput import throughput_bars
from dashboard.pictures.timeline import timeline
from dashboard.pictures.usage import usage_bars
from dashboard.pictures.waterfall import waterfall
from dashboard.state_vocabulary import look_of
from shared.duration_words import duration_text

register = template.Library()

for draw in (
    state_badge,
    run_strip,
    waterfall,
    state_path,
    partition_map,
    delay_strip,
    delay_histogram,
    throughput_bars,
    usage_bars,
    budget_bars,
    fire_histogram,
    heat_map,
    sparkline,
    gauge,
    dag,
    gantt,
    run_grid,
    success_bars,
    percentile_bars,
    day_map,
    timeline,
):
    register.simple_tag(draw)

register.filter("duration", duration_text)
register.filter("share", share_text)


@register.filter
def state_label(state: str) -> str:
    """Return the word of a state."""
    return look_of(state).label
