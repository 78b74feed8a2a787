"""Backup and restore of a whole installation: one file with the database and the keys."""
