"""``manage.py doctor``: finds problems of an installation, with their evidence and remedies."""

from __future__ import annotations

from operations.doctor.examination import examine
from operations.doctor.finding import Finding, Verdict

__all__ = ["Finding", "Verdict", "examine"]
