"""Calls about erasures."""
