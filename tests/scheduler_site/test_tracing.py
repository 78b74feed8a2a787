"""The variables of traces: OpenTelemetry's own names, and nonsense stops the start."""

from __future__ import annotations

import subprocess
import sys

import pytest
from django.core.exceptions import ImproperlyConfigured

from scheduler_site import tracing as module
from scheduler_site.tracing import read_trace_url, read_tracing

BASE = "http://127.0.0.1:4318"


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Name a receiver, as every other variable of traces needs one."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", BASE)
    return monkeypatch


def test_without_a_receiver_traces_are_off(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "nonsense")

    assert read_tracing() is None


def test_a_receiver_alone_records_every_trace(receiver: pytest.MonkeyPatch):
    found = read_tracing()

    assert found is not None
    assert (found.endpoint, found.headers, found.ratio) == (f"{BASE}/v1/traces", {}, 1.0)
    assert (found.follows_callers, found.service_name) == (True, "punctual")


def test_what_is_said_holds(receiver: pytest.MonkeyPatch):
    receiver.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://traces.example/in")
    receiver.setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20k1, x-team = a ")
    receiver.setenv("OTEL_TRACES_SAMPLER", "traceidratio")
    receiver.setenv("OTEL_TRACES_SAMPLER_ARG", "0.01")
    receiver.setenv("OTEL_SERVICE_NAME", "jobs")

    found = read_tracing()

    assert found is not None
    assert found.endpoint == "https://traces.example/in"
    assert found.headers == {"authorization": "Bearer k1", "x-team": "a"}
    assert (found.ratio, found.follows_callers, found.service_name) == (0.01, False, "jobs")
    assert "k1" not in repr(found)


def test_one_variable_turns_all_of_it_off(receiver: pytest.MonkeyPatch):
    receiver.setenv("OTEL_SDK_DISABLED", "true")

    assert read_tracing() is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "127.0.0.1:4318"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:key@collector:4318"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:port"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318?key=k1"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://collector/v1/traces?key=k1"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "grpc://collector:4317"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "key"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a b=c"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "key=a%0d%0ab"),
        ("OTEL_TRACES_SAMPLER", "always_on"),
        ("OTEL_TRACES_SAMPLER_ARG", "1.5"),
        ("OTEL_TRACES_SAMPLER_ARG", "some"),
    ],
)
def test_what_cannot_be_used_stops_the_start(receiver: pytest.MonkeyPatch, name: str, value: str):
    receiver.setenv(name, value)

    with pytest.raises(ImproperlyConfigured, match=name) as refused:
        read_tracing()

    assert "HEADERS" not in name or value not in str(refused.value)


@pytest.mark.parametrize("lacking", ["opentelemetry.sdk.trace", "opentelemetry.exporter"])
def test_a_receiver_without_the_packages_stops_the_start(
    receiver: pytest.MonkeyPatch, lacking: str
):
    def find(name: str) -> object:
        if name.startswith(f"{lacking}."):
            raise ModuleNotFoundError(name)
        return None if name == lacking else object()

    receiver.setattr(module, "find_spec", find)

    with pytest.raises(ImproperlyConfigured, match="make setup-otel"):
        read_tracing()


def test_without_the_packages_every_kind_of_process_can_begin():
    modules = ("scheduler_site.asgi", "scheduler_site.urls", "executions.celery_tasks")
    code = (
        "import sys; sys.modules.update(opentelemetry=None, google=None); import django; "
        "django.setup(); from importlib import import_module; "
        f"[import_module(name) for name in {modules!r}]"
    )

    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("url", ["", "https://traces.example/trace/{trace_id}?orgId=1"])
def test_a_template_of_links_has_the_place_of_the_id(monkeypatch: pytest.MonkeyPatch, url: str):
    monkeypatch.setenv("TRACE_URL", url)

    assert read_trace_url() == url


@pytest.mark.parametrize(
    "url",
    [
        "https://traces.example/",
        "https://traces.example/{trace_id}/{trace_id}",
        "javascript:alert({trace_id})",
        "/trace/{trace_id}",
        "https://user@traces.example/{trace_id}",
    ],
)
def test_a_template_that_makes_no_link_stops_the_start(monkeypatch: pytest.MonkeyPatch, url: str):
    monkeypatch.setenv("TRACE_URL", url)

    with pytest.raises(ImproperlyConfigured, match="TRACE_URL"):
        read_trace_url()
