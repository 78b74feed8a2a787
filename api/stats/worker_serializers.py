"""Bodies and answers of the calls about the processes of the installation."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.protocol.serializers import (
    StrictCharField,
    StrictChoiceField,
    StrictDateTimeField,
    StrictSerializer,
)
from executions.changes.worker_wishes import Action

Answer = serializers.Serializer[Any]

_LONGEST_ID, _LONGEST_POOL, _LONGEST_HOST = 200, 63, 255


class WorkerActionBody(StrictSerializer):
    """What to do, and with which workers: one of `worker`, `pool` and `host`."""

    action = StrictChoiceField(choices=[one.value for one in Action])
    worker = StrictCharField(
        required=False, max_length=_LONGEST_ID, help_text="The id of one worker."
    )
    pool = StrictCharField(
        required=False, max_length=_LONGEST_POOL, help_text="All live workers of this pool."
    )
    host = StrictCharField(
        required=False, max_length=_LONGEST_HOST, help_text="All live workers of this host."
    )


class WorkerActionAnswer(Answer):
    """The ids of the workers that do something else now, and of those that did so before."""

    changed = serializers.ListField(child=serializers.CharField())
    unchanged = serializers.ListField(child=serializers.CharField())


class TakeoverSerializer(Answer):
    """Partitions that one scheduler took at one moment, after they had none.

    `lost_by` is null where the former owner released them, and in records of older versions.
    `unowned_seconds` is an upper bound where it did not: it may have died at any time after its
    last heartbeat.
    """

    at = StrictDateTimeField()
    lost_by = serializers.CharField(allow_null=True)
    taken_by = serializers.CharField(allow_null=True)
    partitions = serializers.IntegerField()
    unowned_seconds = serializers.FloatField()


class LostAttemptsSerializer(Answer):
    """Attempts that were lost with a worker, in the minute or hour that begins at `at`."""

    at = StrictDateTimeField()
    by = serializers.ChoiceField(choices=["minute", "hour"])
    attempts = serializers.IntegerField()


class LostWorkerSerializer(Answer):
    """A worker that fell silent within the last day; its work was taken back."""

    id = serializers.CharField()
    pool = serializers.CharField()
    heard_at = StrictDateTimeField()


class TakeoversAnswer(Answer):
    """The last takeovers; attempts and workers lost from `since` on, the latest first.

    Each list has 20 entries at most. `lost_workers` is null while Redis cannot be reached.
    """

    takeovers = TakeoverSerializer(many=True)
    since = StrictDateTimeField()
    lost_attempts = LostAttemptsSerializer(many=True)
    lost_workers = LostWorkerSerializer(many=True, allow_null=True)
