"""The project's database backend: Django's for PostgreSQL, which recovers after a lost session."""
