"""The database backend of the project: Django's for PostgreSQL, and whole after every failure."""
