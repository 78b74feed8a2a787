"""The answer that shows a month by day."""

from __future__ import annotations

from rest_framework import serializers

from api.forecast.serializers import Answer
from api.protocol.serializers import StrictDateTimeField


class MonthDay(Answer):
    """A day of a month."""

    day = serializers.DateField()
    coming = serializers.IntegerField(
        allow_null=True, help_text="Runs to come; null of days before today."
    )
    succeeded = serializers.IntegerField(
        allow_null=True, help_text="Null of days after today, and of those without history."
    )
    failed = serializers.IntegerField(allow_null=True)
    ended_at_least = serializers.BooleanField(
        help_text="Whether more may have ended than was read: 50 runs of 40 tasks with a filter."
    )
    clock_change = serializers.CharField(
        allow_null=True, help_text="A change of the zone's clocks in words."
    )
    pauses = serializers.ListField(
        child=serializers.CharField(), help_text="Standing pauses that hold tasks on the day."
    )
    calendars = serializers.ListField(
        child=serializers.CharField(), help_text="Calendars that exclude the day, or a part of it."
    )


class ComingRun(Answer):
    """A coming run."""

    at = StrictDateTimeField()
    task_id = serializers.UUIDField()
    task_name = serializers.CharField()
    more = serializers.BooleanField(
        help_text="Whether it is the first of over 24 runs of the task on the day."
    )


class RunsOfDay(Answer):
    """The coming runs of one day."""

    day = serializers.DateField()
    complete = serializers.BooleanField(
        help_text="False where there are over 500 runs, or over 500 tasks due by then."
    )
    runs = ComingRun(many=True)


class MonthSerializer(Answer):
    """A month by day."""

    month = serializers.CharField(help_text="As YYYY-MM.")
    timezone = serializers.CharField()
    computed_at = StrictDateTimeField(help_text="Of the coming runs; up to a minute ago.")
    complete = serializers.BooleanField(
        help_text="False when tasks or schedules are too many to count all: `coming` is at least."
    )
    tasks = serializers.IntegerField(
        help_text="Tasks due by the end of the month, of recurring and one-time ones 10,000 each."
    )
    tasks_counted = serializers.IntegerField(help_text="Tasks whose runs are in the counts.")
    tasks_paused = serializers.IntegerField(
        help_text="Paused tasks, which are in no count; at most 1,000."
    )
    days = MonthDay(many=True)
    runs = RunsOfDay(allow_null=True, help_text="Null unless `day` is given.")
