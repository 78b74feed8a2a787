"""What ``manage.py audit`` does: read the audit log, verify it, export it, keep its heads."""
