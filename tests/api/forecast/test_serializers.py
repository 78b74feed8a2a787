from __future__ import annotations

from api.forecast.serializers import ForecastSerializer
from executions.loop.clocks import database_now
from insight.forecast.load import forecast, present_forecast
from tenants.models import Tenant


def test_the_documented_fields_are_those_of_the_answer(alpha: Tenant):
    answer = present_forecast(forecast(alpha.id, now=database_now()), "hour")

    assert list(ForecastSerializer().fields) == list(answer)
