"""Metrics of the installation: their catalogue, their readings and their two text formats."""
