"""Budgets of tasks: what they may use in a day or month, and what they have used of it."""
