"""Bodies and answers of the forecast, of spreading a minute's starts, and of an edit's preview."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.protocol.serializers import (
    StrictBooleanField,
    StrictDateTimeField,
    StrictIntegerField,
    StrictNumberField,
    StrictSerializer,
)
from executions.bulk.spreading import MAX_JITTER_SECONDS
from tasks.hot_minutes import MOST_TASKS

Answer = serializers.Serializer[Any]


class LoadBucket(Answer):
    """The starts of one minute or hour that has any."""

    at = StrictDateTimeField()
    count = serializers.IntegerField()


class DestinationLoad(Answer):
    """The starts that call one destination."""

    destination = serializers.CharField(help_text="Host, with its port unless that is 80 or 443.")
    count = serializers.IntegerField()


class SampleTask(Answer):
    """A task by name."""

    id = serializers.UUIDField()
    name = serializers.CharField()


class HotSpotSerializer(Answer):
    """A minute that stands out."""

    at = StrictDateTimeField()
    count = serializers.IntegerField(help_text="Starts in this minute.")
    tasks = serializers.IntegerField(help_text="Tasks that start in it.")
    repeats = serializers.IntegerField(help_text="More minutes with the same tasks.")
    destinations = DestinationLoad(many=True, help_text="Tasks by destination, the most first.")
    sample = SampleTask(many=True)


class ForecastSerializer(Answer):
    """The expected starts of a stretch of time."""

    # Not a class attribute: the name is a keyword.
    def get_fields(self) -> Any:
        """Return the fields, ``from`` first."""
        return {"from": StrictDateTimeField(), **super().get_fields()}

    to = StrictDateTimeField()
    resolution = serializers.ChoiceField(choices=["minute", "hour"])
    computed_at = StrictDateTimeField(help_text="Up to a minute ago.")
    complete = serializers.BooleanField(
        help_text="False when the schedules were too many to compute all: counts are at least."
    )
    tasks = serializers.IntegerField(help_text="Tasks that start in time; paused ones do not.")
    tasks_counted = serializers.IntegerField(help_text="Tasks whose starts are in the counts.")
    starts = serializers.IntegerField()
    buckets = LoadBucket(many=True, help_text="In order; those without a start are left out.")
    destinations = DestinationLoad(many=True, help_text="The busiest hundred.")
    hot_spots = HotSpotSerializer(many=True, help_text="The fullest ten, the fullest first.")


class SpreadBody(StrictSerializer):
    """Which minute to spread, and how far."""

    at = StrictDateTimeField(help_text="A coming minute, by any instant of it.")
    jitter_seconds = StrictNumberField(
        required=False,
        min_value=1,
        max_value=MAX_JITTER_SECONDS,
        help_text="Half of the way to the next start of the densest task, at most 300, unless "
        "given.",
    )
    expected_count = StrictIntegerField(
        required=False,
        min_value=0,
        max_value=MOST_TASKS,
        help_text="Refuse (409 `scope_changed`) unless exactly this number of tasks would change.",
    )
    dry_run = StrictBooleanField(
        default=False, help_text="Only count: 200 with the plan, and nothing changes."
    )


class SpreadPlan(Answer):
    """The changes that spreading a minute would make."""

    at = StrictDateTimeField()
    tasks = serializers.IntegerField(help_text="Tasks that would get the jitter.")
    left_out = serializers.IntegerField(help_text="Tasks that have a jitter already.")
    limited = serializers.BooleanField(help_text="There are more tasks than one job spreads.")
    jitter_seconds = serializers.FloatField()


class ComparedOccurrence(Answer):
    """A coming instant of the new schedule."""

    utc = StrictDateTimeField()
    local = StrictDateTimeField()
    due_at = StrictDateTimeField(help_text="When it starts: its time, and its share of jitter.")
    notes = serializers.ListField(child=serializers.CharField())
    change = serializers.ChoiceField(choices=["kept", "added"])


class RunsPerDay(Answer):
    """Runs of a mean day; null where nothing recurs."""

    before = serializers.FloatField(allow_null=True)
    after = serializers.FloatField(allow_null=True)


class BusiestMinute(Answer):
    """The minute among the new instants in which most other starts are expected."""

    at = StrictDateTimeField()
    others = serializers.IntegerField()


class EditPreview(Answer):
    """The changes that an edit would make to a task's instants."""

    text = serializers.CharField()
    text_before = serializers.CharField()
    occurrences = ComparedOccurrence(many=True, help_text="The next 100.")
    removed = serializers.ListField(
        child=StrictDateTimeField(),
        help_text="Instants of the old next 100 that the edit drops, up to the last one above.",
    )
    runs_per_day = RunsPerDay()
    busiest_minute = BusiestMinute(
        allow_null=True, help_text="Null beyond the forecast, and for very large tenants."
    )
