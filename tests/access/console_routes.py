"""Every route of the console, with the ids of a world in its path."""

from __future__ import annotations

import re

from dashboard import urls
from tests.access.console_rights import OPEN
from tests.access.world import World

#: A step of the world's runs.
STEP = "ok"
_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
ROUTES = [str(one.pattern) for one in urls.urlpatterns]
#: What routes call what the world has.
_NAMES = {"name": "pool", "member_id": "member"}
#: Not pages of a tenant.
WITHOUT_TENANT = OPEN


def path_of(route: str, world: World) -> str:
    """Return the path of a route that names the world's rows."""

    def value(found: re.Match[str]) -> str:
        name = _NAMES.get(found[1], found[1])
        if name == "execution_id":
            # The one that has an answer, a log and an error.
            name = "ended_id"
        if name == "task_id" and route.startswith("workflows/"):
            name = "workflow_id"
        return STEP if name == "key" else str(world.ids[name])

    return "/" + _PARAMETER.sub(value, route)
