"""Calls about the data keys of a tenant."""
