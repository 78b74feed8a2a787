"""Times to the second, sortable, with their zone; Django's own English ones stop at the minute."""

from __future__ import annotations

DATETIME_FORMAT = "Y-m-d H:i:s T"
DATE_FORMAT = "Y-m-d"
TIME_FORMAT = "H:i:s"
