"""People with a second factor, and the codes that their apps show."""

from __future__ import annotations

import time

import pyotp
from django.contrib.auth.models import User
from django.test import Client

from shared.actor import Actor
from tenants.models import SecondFactor
from tenants.services.second_factors import (
    begin_second_factor,
    confirm_second_factor,
    pending_secret,
)

_ACTOR = Actor("user:1", "192.0.2.1")


def enrol(user: User, *, at: float | None = None) -> tuple[str, list[str]]:
    """Give the person a second factor; return its secret and the recovery codes.

    The code that confirms it is the one before the present one, which stays unused.
    """
    begin_second_factor(user.pk)
    secret = pending_secret(user.pk)
    assert secret is not None
    moment = (time.time() if at is None else at) - 30
    codes = confirm_second_factor(
        user.pk, pyotp.TOTP(secret).at(int(moment)), None, actor=_ACTOR, at=moment
    )
    return secret, codes


def code_of(user: User, secret: str) -> str:
    """Return the next code that is valid now and was not used."""
    now = int(time.time() // 30)
    last = SecondFactor.objects.get(user=user).last_step
    return pyotp.TOTP(secret).generate_otp(max(now, last + 1))


def sign_in(user: User, password: str, secret: str, **origin: str) -> Client:
    """Return a browser that has given password and code."""
    client = Client(**origin)  # type: ignore[arg-type]  # headers as the environment names them
    client.post("/login", {"username": user.get_username(), "password": password})
    answer = client.post("/login/code", {"code": code_of(user, secret)})
    assert answer.status_code == 302, answer.content
    return client
