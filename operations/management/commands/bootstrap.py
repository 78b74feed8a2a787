"""``manage.py bootstrap``: makes the first tenant, key, days and entries of an installation.

Repeating it only makes what is missing, and sets the password to ADMIN_PASSWORD if that differs.
The key is shown once, when it is made.
"""

from __future__ import annotations

import json
import os
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from dashboard.one_time_login import login_path
from events import audit
from executions.complete.outcome_stream import ensure_group
from executions.ledger import days
from executions.loop.clocks import database_now
from executions.ownership import fence
from operations.housekeeping_entries import ensure_entries
from shared.actor import COMMAND
from shared.exceptions import InvalidInput
from shared.sql import rows
from tenants.authority import OPERATOR
from tenants.choices import SCOPES, Role, SignInEnd
from tenants.models import ApiKey, Tenant
from tenants.services import create_api_key, create_tenant, set_member
from tenants.services.accounts import (
    describe_account,
    record_change,
    record_password,
    refuse_weak_password,
)
from tenants.services.api_keys import hash_key
from tenants.services.sign_ins import end_sign_ins

FIRST_TENANT = "default"
ADMINISTRATOR = "admin"
#: Gives the first failure's message an address; people change it in the admin or the settings.
ADMINISTRATOR_EMAIL = "admin@localhost"


class Command(BaseCommand):
    """Make the first tenant with its owner key, the day tables and the housekeeping entry."""

    help = "Prepare a new installation; safe to repeat."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the output form."""
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prepare, then print the tenant and a newly made key."""
        with transaction.atomic(durable=True):
            rows("migrating/be_alone")
            days.ensure_days_ahead(database_now())
            tenant, key = _first_tenant(os.environ.get("BOOTSTRAP_API_KEY") or None)
            login_url = _administrator(tenant, os.environ.get("ADMIN_PASSWORD") or None)
            ensure_entries()
        ensure_group()
        made = {
            "tenant_id": str(tenant.id),
            "api_key": key,
            "login_url": login_url,
            "fenced": fence.holds(),
        }
        if options["as_json"]:
            self.stdout.write(json.dumps(made))
        else:
            login = login_url or "with the password given"
            if login_url and not self.stdout.isatty():
                login = "by the link that `manage.py accounts login-link admin` prints"
            self.stdout.write(
                f"tenant {tenant.name} {tenant.id}\nAPI key {key or '(unchanged)'}\nlogin {login}"
            )


def _first_tenant(given_key: str | None) -> tuple[Tenant, str | None]:
    tenant = Tenant.objects.filter(name=FIRST_TENANT).first()
    if tenant is None:
        tenant = create_tenant(FIRST_TENANT, actor=COMMAND, unlimited=True)
    if given_key:
        present = ApiKey.objects.filter(key_hash=hash_key(given_key)).exists()
    else:
        present = ApiKey.objects.filter(tenant=tenant, owner=True, revoked_at=None).exists()
    if present:
        return tenant, None
    _, key = create_api_key(
        tenant,
        name="owner",
        scopes=list(SCOPES),
        owner=True,
        key=given_key,
        actor=COMMAND,
        by=OPERATOR,
    )
    return tenant, key if given_key is None else None


def _administrator(tenant: Tenant, password: str | None) -> str | None:
    """Make the administrator; without a given password return a link that logs in once."""
    users = get_user_model().objects
    admin = users.filter(username=ADMINISTRATOR).first()
    if admin is None:
        admin = users.create_superuser(ADMINISTRATOR, email=ADMINISTRATOR_EMAIL)
        record_change("user", admin.pk, None, describe_account(admin), actor=COMMAND)
        set_member(tenant.id, admin.pk, Role.OWNER, actor=COMMAND)
    if password is None:
        audit.record_of_installation(COMMAND, "sign_in.link_made", "user", str(admin.pk))
        return settings.PUBLIC_URL + login_path(admin)
    if not admin.check_password(password):
        # Only one that is to be set: an installation with a weak one goes on.
        try:
            refuse_weak_password(admin, password, "ADMIN_PASSWORD")
        except InvalidInput as error:
            raise CommandError(f"ADMIN_PASSWORD is refused: {error.message}") from error
        admin.set_password(password)
        admin.save(update_fields=["password"])
        record_password(admin, actor=COMMAND)
        end_sign_ins(admin.pk, SignInEnd.PASSWORD, actor=COMMAND)
    return None
