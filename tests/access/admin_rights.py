"""Every page of the admin, and what each kind of visitor is answered.

The admin is the deployment's door: staff sees the rows of every tenant, with rights that superusers
give model by model. Most models have no form: services write their rows.
"""

from __future__ import annotations

from dataclasses import dataclass

SHOWN, LOGIN, ENROL, REFUSED = "taken", "login", "enrol", "403"


@dataclass(frozen=True, kw_only=True)
class Staff:
    """What an account may do in the admin."""

    #: The answer to everything.
    turned_to: str = ""
    views: bool = False
    #: All rights of all models.
    changes: bool = False
    superuser: bool = False


#: Kind of visitor -> what the account may do.
VISITORS: dict[str, Staff] = {
    "no session": Staff(turned_to=LOGIN),
    "an owner of a tenant": Staff(turned_to=LOGIN),
    "an idle session of a superuser": Staff(turned_to=LOGIN),
    "a superuser that is not active": Staff(turned_to=LOGIN),
    "a superuser that is not staff": Staff(turned_to=LOGIN),
    "a superuser who must enrol": Staff(turned_to=ENROL),
    "staff without rights": Staff(turned_to=REFUSED),
    "staff who owns a tenant": Staff(turned_to=REFUSED),
    "staff that views": Staff(views=True),
    "staff with all rights": Staff(views=True, changes=True),
    "superuser": Staff(views=True, changes=True, superuser=True),
}

#: Model -> the forms that it has: for staff with the right, and for superusers.
_BEAT = ("add", "change", "delete")
FORMS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "tenants.Tenant": (("add", "change"), ("add", "change")),
    "tenants.ApiKey": (("add",), ("add",)),
    "auth.User": (("add", "change", "delete"), ("add", "change", "delete")),
    "auth.Group": ((), ("add", "change", "delete")),
    "django_celery_beat.PeriodicTask": (_BEAT, _BEAT),
    "django_celery_beat.IntervalSchedule": (_BEAT, _BEAT),
    "django_celery_beat.CrontabSchedule": (_BEAT, _BEAT),
}
#: The pages of a model, and the methods that they are asked with.
PAGES = {
    "changelist": ("GET",),
    "add": ("GET", "POST"),
    "change": ("GET", "POST"),
    "delete": ("GET", "POST"),
    "history": ("GET",),
    "password_change": ("GET", "POST"),
}


def answer(model: str, page: str, method: str, visitor: Staff) -> str:
    """Return what the visitor is answered."""
    if visitor.turned_to:
        return visitor.turned_to
    forms = FORMS.get(model, ((), ()))[visitor.superuser]
    form = "change" if page == "password_change" else page
    if form in forms:
        # Django shows those who may look the form, without fields and without a button.
        allowed = visitor.changes or (form == "change" and method == "GET" and page == form)
        return SHOWN if allowed else REFUSED
    if page in ("changelist", "history"):
        return SHOWN
    return SHOWN if form == "change" and method == "GET" else REFUSED
