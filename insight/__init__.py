"""Explanations, statistics, forecasts and presentation: reads of the installation, no writes."""
