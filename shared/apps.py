"""Registers ``shared`` with Django; it has no models, only building blocks."""

from __future__ import annotations

from django.apps import AppConfig


class SharedConfig(AppConfig):
    """The domain-free bottom layer."""

    name = "shared"
