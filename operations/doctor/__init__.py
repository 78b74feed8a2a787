"""``manage.py doctor``: finds problems of an installation, with their evidence and remedies."""

from __future__ import annotations

from operations.doctor.examination import examine
from operations.doctor.finding import Finding, Matter, Verdict

__all__ = ["Finding", "Matter", "Verdict", "examine"]
