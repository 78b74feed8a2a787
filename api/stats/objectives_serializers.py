"""The answer of ``GET /v1/objectives``, for its description."""

from __future__ import annotations

from rest_framework import serializers

from api.stats.serializers import Answer
from executions.ledger.objectives import Objective
from insight.statistics.objectives import WINDOWS
from insight.statistics.task_targets import DURATION, START
from wire.priorities import BAND_NAMES


class BurnRate(Answer):
    """How fast the budget was spent within a window up to now: 1 spends it in 30 days.

    0 where nothing counted.
    """

    window = serializers.ChoiceField(choices=list(WINDOWS))
    total = serializers.IntegerField()
    bad = serializers.IntegerField()
    burn_rate = serializers.FloatField()


class BudgetFigures(Answer):
    """An error budget of 30 days.

    `budget` is how many of `total` may miss the objective, `bad` how many did. `budget_left` is the
    part that is left: 1 is all of it, below 0 it is overspent. `exhausted_at` is when nothing is
    left at the pace of the last six hours, null where that is not within 30 days.
    """

    total = serializers.IntegerField()
    good = serializers.IntegerField()
    bad = serializers.IntegerField()
    budget = serializers.FloatField()
    budget_left = serializers.FloatField()
    exhausted_at = serializers.DateTimeField(allow_null=True)
    burn_rates = BurnRate(many=True)


class BandBudget(BudgetFigures):
    """The budget of the work of a band."""

    band = serializers.ChoiceField(choices=BAND_NAMES)


class ObjectiveCause(Answer):
    """What has spent the budget, and a late example of it, which the history may have dropped."""

    cause = serializers.CharField()
    bad = serializers.IntegerField()
    last_at = serializers.DateTimeField()
    execution_id = serializers.UUIDField(allow_null=True)


class ObjectiveSerializer(BudgetFigures):
    """An objective. Calls of the API have no priority: `by_band` is empty."""

    objective = serializers.ChoiceField(choices=[str(one) for one in Objective])
    target = serializers.FloatField()
    by_band = BandBudget(many=True)
    causes = ObjectiveCause(many=True)


class TargetFigures(Answer):
    """How a target of a task was kept in 30 days; `burn_rate` is that of today in UTC."""

    target = serializers.ChoiceField(choices=[START, DURATION])
    seconds = serializers.FloatField()
    total = serializers.IntegerField()
    bad = serializers.IntegerField()
    budget_left = serializers.FloatField()
    burn_rate = serializers.FloatField()


class TaskTargetsSerializer(Answer):
    """A task with targets of its own."""

    task_id = serializers.UUIDField()
    name = serializers.CharField()
    targets = TargetFigures(many=True)


class ObjectivesAnswer(Answer):
    """The objectives at this moment, and the 50 tasks with targets that missed them most."""

    at = serializers.DateTimeField()
    window_days = serializers.IntegerField()
    objectives = ObjectiveSerializer(many=True)
    tasks = TaskTargetsSerializer(many=True)
