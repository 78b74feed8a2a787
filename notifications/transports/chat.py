"""Sends one notice to a chat or paging service by the library apprise, behind the guard.

Only the services of the list are imported, each as a module of its own: apprise's manager, which
would load every service of it (mail, D-Bus, files), is not used. In each module the name
``requests`` is bound to our client, so a service has no other way out. Options of a URL that read
files, wait or send to several receivers are refused.
"""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from notifications.transports.answers import Answer, answer_of, refusal_of, without_parts_of
from notifications.transports.errors import TransportError
from shared.addresses import UrlError
from shared.conf import conf

if TYPE_CHECKING:
    from notifications.transports.guarded_requests import Exchange

MAX_URL_LENGTH = 2048
#: Options of a URL that say where within the service a message goes, or how urgent it is.
OPTIONS = frozenset(
    {"channel", "class", "group", "key", "mode", "priority", "region", "responders", "route"}
    | {"severity", "silent", "sound", "tags", "thread", "to", "token", "topic"}
    # Of the URLs of Microsoft Teams workflows, which Microsoft writes so.
    | {"api-version", "pa", "powerautomate", "sig", "sp", "sv"}
)
_BAD = re.compile(r"[\x00-\x20\x7f\\]")
_CLOSED, _OPEN = "success", "failure"


@dataclass(frozen=True, slots=True)
class Service:
    """A service: its title, and its module and class in apprise.

    ``incident`` are the arguments under which all messages of an alert belong to one incident;
    ``{alert}`` is the alert's id.
    """

    title: str
    module: str
    name: str
    hosted: bool = True
    incident: tuple[tuple[str, str], ...] = ()


_ROCKET = Service("Rocket.Chat", "rocketchat", "NotifyRocketChat", hosted=False)
_MATTERMOST = Service("Mattermost", "mattermost", "NotifyMattermost", hosted=False)
_NTFY = Service("ntfy", "ntfy", "NotifyNtfy", hosted=False)
_GOTIFY = Service("Gotify", "gotify", "NotifyGotify", hosted=False)
_TEAMS = Service("Microsoft Teams", "workflows", "NotifyWorkflows", hosted=False)
_WEBEX = Service("Webex", "webexteams", "NotifyWebexTeams")
_SPLUNK = Service("Splunk On-Call", "splunk", "NotifySplunk", incident=(("entity_id", "{alert}"),))
#: Scheme of the URL -> service.
SERVICES: Mapping[str, Service] = {
    "slack": Service("Slack", "slack", "NotifySlack"),
    "workflow": _TEAMS,
    "workflows": _TEAMS,
    "discord": Service("Discord", "discord", "NotifyDiscord"),
    "tgram": Service("Telegram", "telegram", "NotifyTelegram"),
    "gchat": Service("Google Chat", "google_chat", "NotifyGoogleChat"),
    "mmost": _MATTERMOST,
    "mmosts": _MATTERMOST,
    "rocket": _ROCKET,
    "rockets": _ROCKET,
    "wxteams": _WEBEX,
    "webex": _WEBEX,
    "zulip": Service("Zulip", "zulip", "NotifyZulip"),
    "ntfy": _NTFY,
    "ntfys": _NTFY,
    "gotify": _GOTIFY,
    "gotifys": _GOTIFY,
    "pover": Service("Pushover", "pushover", "NotifyPushover"),
    "pagerduty": Service(
        "PagerDuty",
        "pagerduty",
        "NotifyPagerDuty",
        incident=(("action", "map"), ("dedup", "{alert}")),
    ),
    # Its own "close" needs the ids of earlier answers, which a sender of today may not know.
    "opsgenie": Service(
        "Opsgenie", "opsgenie", "NotifyOpsgenie", incident=(("action", "new"), ("alias", "{alert}"))
    ),
    "splunk": _SPLUNK,
    "victorops": _SPLUNK,
    "signl4": Service(
        "SIGNL4",
        "signl4",
        "NotifySIGNL4",
        incident=(("action", "map"), ("external_id", "{alert}")),
    ),
}


@dataclass(frozen=True, slots=True)
class ChatPlace:
    """What may be shown of a URL: the scheme of its service, and the host where it has one."""

    service: str
    host: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message in plain text; ``closing`` says that the alert is over."""

    title: str
    body: str
    alert_id: str
    closing: bool = False


def keeps_incidents(scheme: str) -> bool:
    """Return whether the service keeps an incident for each alert, so none may be bundled."""
    return scheme in SERVICES and bool(SERVICES[scheme].incident)


def title_of(scheme: str) -> str:
    """Return the service's name for people."""
    return SERVICES[scheme].title if scheme in SERVICES else "Webhook"


def read_chat_url(url: str) -> ChatPlace:
    """Return what may be shown of a service's URL; raise UrlError for one that cannot be used."""
    scheme, plugin = _plugin_of(url, {})
    hosted = SERVICES[scheme].hosted
    if not hosted:
        _check_host(plugin)
    return ChatPlace(scheme, "" if hosted else str(plugin.host or ""))


def send_chat(url: str, message: ChatMessage) -> Answer:
    """Hand the message to the service and return its answer; raise TransportError."""
    # The library is loaded where a message is sent, not in each process that plans notices.
    from notifications.transports.guarded_requests import exchange

    try:
        _, plugin = _plugin_of(url, {"{alert}": message.alert_id})
    except UrlError as error:
        raise TransportError(error.message, permanent=True) from error
    with exchange() as made:
        try:
            accepted = plugin.notify(
                body=message.body,
                title=message.title,
                notify_type=_CLOSED if message.closing else _OPEN,
                body_format="text",
            )
        except Exception as error:
            # The library's own faults: their text may have parts of the URL.
            if made.error is None and made.response is None:
                text = f"The message could not be made: {type(error).__name__}."
                raise TransportError(text, permanent=True) from error
            accepted = False
    return _judged(made, url, accepted=accepted)


def _judged(made: Exchange, url: str, *, accepted: bool) -> Answer:
    if accepted and made.response is not None and made.refused is not made.response:
        return answer_of(made.response, url)
    if made.error is not None:
        made.error.message = without_parts_of(url, made.error.message)
        raise made.error
    decisive = made.refused or made.response
    if decisive is None:
        raise TransportError("The service made no call for this message.", permanent=True)
    raise refusal_of(answer_of(decisive, url), decisive)


def _plugin_of(url: str, names: Mapping[str, str]) -> tuple[str, Any]:
    """Return the scheme of the service and apprise's object for the URL; raise UrlError."""
    if len(url) > MAX_URL_LENGTH or _BAD.search(url):
        message = f"The URL has at most {MAX_URL_LENGTH} characters, none of them white space."
        raise UrlError("url_invalid", message)
    scheme, parsed = _parsed(url)
    service = SERVICES[scheme]
    _check_options(parsed)
    given = set(parsed.get("qsd", ()))
    further = {
        name: names.get(value, value)
        for name, value in service.incident
        if name not in given and (names or value[0] != "{")
    }
    fixed = {
        "asset": _asset(),
        "overflow": "truncate",
        "retry": 0,
        "optional": False,
        "store": "no",
    }
    try:
        plugin = _class_of(service)(**{**parsed, **further, **fixed})
        receivers = len(plugin)
    except Exception as error:
        # The library's texts may repeat a token.
        text = f"{service.title} does not take this URL. Compare it with the library's examples."
        raise UrlError("url_invalid", text) from error
    if receivers != 1:
        raise UrlError("url_invalid", "Name one receiver. Add a channel for each further one.")
    # Our retries are rows: a service that wants fewer messages must not hold a sender asleep.
    plugin.throttle = _do_not_wait
    return scheme, plugin


def _do_not_wait(*_: Any, **parts: Any) -> None:
    """Take the place of the library's sleep."""


def _parsed(url: str) -> tuple[str, dict[str, Any]]:
    """Return the scheme of the service and the URL's parts as apprise reads them."""
    scheme = url.partition("://")[0].lower()
    if scheme == "https":
        for own, service in SERVICES.items():
            found = _read(service, "parse_native_url", url)
            if found:
                return own, found
    elif scheme in SERVICES:
        found = _read(SERVICES[scheme], "parse_url", url)
        if found:
            return scheme, found
        message = f"{SERVICES[scheme].title} does not take this URL."
        raise UrlError("url_invalid", message)
    known = ", ".join(f"{one}://" for one in SERVICES)
    message = f"No known service. Give its own https URL, or one that begins with {known}."
    raise UrlError("service_unknown", message)


def _read(service: Service, reader: str, url: str) -> dict[str, Any] | None:
    """Return the parts of the URL by a reader of the library, or None; raise UrlError."""
    try:
        found: dict[str, Any] | None = getattr(_class_of(service), reader)(url)
    except Exception as error:
        # It stumbles over some malformed URLs; its texts may repeat a token.
        raise UrlError("url_invalid", f"{service.title} does not take this URL.") from error
    return found


def _check_options(parsed: Mapping[str, Any]) -> None:
    options = set(parsed.get("qsd", ()))
    options |= {mark for mark in ("qsd+", "qsd-", "qsd:") if parsed.get(mark)}
    refused = sorted(options - OPTIONS)
    if refused:
        name = refused[0] if refused[0].isidentifier() else "this option"
        known = ", ".join(sorted(OPTIONS))
        message = f"The URL may not have the option {name}. Allowed are {known}."
        raise UrlError("url_invalid", message)


def _check_host(plugin: Any) -> None:
    from notifications.transports.webhook import check_webhook_url

    scheme = "https" if plugin.secure else "http"
    port = f":{plugin.port}" if plugin.port else ""
    check_webhook_url(f"{scheme}://{plugin.host}{port}/")


@cache
def _class_of(service: Service) -> Any:
    """Return the service's class, its module bound to our client."""
    from notifications.transports.guarded_requests import GuardedRequests

    # Its lines may have parts of URLs.
    library = logging.getLogger("apprise")
    library.propagate = False
    module = importlib.import_module(f"apprise.plugins.{service.module}")
    module.requests = GuardedRequests()  # type: ignore[attr-defined]  # the library's own name
    return getattr(module, service.name)


def _asset() -> Any:
    from apprise.asset import AppriseAsset

    return AppriseAsset(
        app_id="Punctual",
        app_desc="Punctual",
        app_url=conf().public_url,
        image_url_mask=None,
        image_url_logo=None,
        image_path_mask=None,
        http_redirects=False,
    )
