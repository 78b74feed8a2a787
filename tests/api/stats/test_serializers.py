from __future__ import annotations

from api.stats.serializers import UsageAnswer


def test_the_answer_of_usage_names_its_first_day_as_the_parameter_does():
    assert list(UsageAnswer().fields) == ["from", "to", "days", "total"]
