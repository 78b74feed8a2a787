"""The variables of `/metrics`, a part of the list of settings."""

from __future__ import annotations

from operations.setting_readers import Setting, knob

METRIC_SETTINGS = (
    Setting(
        "METRICS_TOKEN",
        "",
        "Token of at least 32 characters that a scrape of `/metrics` sends as "
        "`Authorization: Bearer`; for web processes only. Without it and METRICS_NETWORKS "
        "there is no `/metrics`.",
        knob("metrics_token"),
        secret=True,
    ),
    Setting(
        "METRICS_NETWORKS",
        "",
        "Addresses or networks whose callers may scrape `/metrics` without the token. Behind a "
        "proxy, set TRUSTED_PROXIES first: otherwise every caller has the proxy's address.",
        knob("metrics_networks"),
    ),
    Setting(
        "METRICS_TENANTS",
        "0",
        "How many of the most delayed tenants `/metrics` names by their ids, 0 to 100.",
        knob("metrics_tenants"),
    ),
)
