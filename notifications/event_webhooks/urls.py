"""The URL of a subscription: sealed at rest, and judged as the URL of a webhook is."""

from __future__ import annotations

from notifications.models import EventSubscription
from shared.addresses import AllowList, TargetUrl, parse_target_url
from shared.conf import conf
from shared.encryption import open_sealed, seal
from shared.sealing_contexts import Context, event_subscription_context


def parse_receiver_url(url: str) -> TargetUrl:
    """Return the URL as it is called; raise UrlError for one that may not be called."""
    allow = AllowList(conf().webhook_allowed_networks)
    return parse_target_url(url, allow, conf().webhook_allowed_ports)


def sealed_url(subscription: EventSubscription, url: str) -> bytes:
    """Return the URL sealed for the row."""
    return seal(url.encode(), _context(subscription))


def url_of(subscription: EventSubscription) -> str:
    """Return the URL; raise DecryptionFailed where no key opens it."""
    return open_sealed(subscription.sealed_url, _context(subscription)).decode()


def _context(subscription: EventSubscription) -> Context:
    return event_subscription_context(subscription.tenant_id, subscription.pk)
