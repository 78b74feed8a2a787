"""Erases the content of a task and of its history; the certificate of it stays."""
