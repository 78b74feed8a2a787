"""Runs of Punctual's workflows beside those of DBOS, Celery's canvas and BullMQ's flows."""
