"""Event webhooks: the events of subscriptions, sent in their order."""
