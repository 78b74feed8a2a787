"""``manage.py doctor``: what is wrong with an installation, by evidence, and how to mend it."""

from __future__ import annotations

from operations.doctor.examination import examine
from operations.doctor.finding import Finding, Verdict

__all__ = ["Finding", "Verdict", "examine"]
