"""``/v1/event-subscriptions``: receivers of events."""
