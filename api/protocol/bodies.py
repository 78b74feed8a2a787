"""Reads what a form or a command gives by the same serializer as the body of the call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from rest_framework.exceptions import ValidationError
from rest_framework.serializers import BaseSerializer

from api.protocol.problems import field_errors
from shared.exceptions import InvalidInput


def read_fields(
    serializer_class: type[BaseSerializer[Any]], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the fields as the serializer validates them; raise InvalidInput with each error."""
    serializer = serializer_class(data=given)
    try:
        serializer.is_valid(raise_exception=True)
    except ValidationError as error:
        raise InvalidInput(list(field_errors(error.detail))) from error
    return cast(dict[str, Any], serializer.validated_data)
