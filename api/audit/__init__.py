"""``/v1/audit``: who changed what."""
