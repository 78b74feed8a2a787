from __future__ import annotations

import psycopg
import pytest
import redis
from django.db import IntegrityError, InternalError, OperationalError

from api.protocol.outages import is_outage
from shared.redis_client import WritesRefused


def _internal(cause: psycopg.Error) -> InternalError:
    error = InternalError(str(cause))
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        OperationalError("connection refused"),
        _internal(psycopg.errors.IdleInTransactionSessionTimeout("ended after a freeze")),
        _internal(psycopg.errors.ReadOnlySqlTransaction("it is a standby now")),
        redis.ConnectionError("refused"),
        WritesRefused("command not allowed when used memory > 'maxmemory'"),
    ],
)
def test_a_server_that_is_away_or_refuses_for_now_is_an_outage(error: BaseException):
    assert is_outage(error)


@pytest.mark.parametrize(
    "error",
    [
        IntegrityError("duplicate key"),
        _internal(psycopg.errors.InFailedSqlTransaction("a statement failed before")),
        redis.ResponseError("wrong number of arguments"),
        FileNotFoundError("no such file"),
        ZeroDivisionError(),
    ],
)
def test_a_bug_is_no_outage(error: BaseException):
    assert not is_outage(error)
