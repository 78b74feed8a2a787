"""The variables of traces, a part of the list of settings; most are names of OpenTelemetry."""

from __future__ import annotations

from operations.setting_readers import Setting, knob, variable

TRACE_SETTINGS = (
    Setting(
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "",
        "Base URL of the receiver of traces (OTLP over HTTP), such as `http://127.0.0.1:4318`; "
        "`/v1/traces` is added. Empty: no span is made or sent. Needs the extra `otel`.",
        variable("OTEL_EXPORTER_OTLP_ENDPOINT"),
    ),
    Setting(
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "",
        "The full URL instead, where traces go elsewhere than the variable above says.",
        variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
    ),
    Setting(
        "OTEL_EXPORTER_OTLP_HEADERS",
        "",
        "Headers of each post, as `name=value,name=value` with values as in URLs; for keys.",
        variable("OTEL_EXPORTER_OTLP_HEADERS"),
        secret=True,
    ),
    Setting(
        "OTEL_EXPORTER_OTLP_PROTOCOL",
        "http/protobuf",
        "Only `http/protobuf`; another value stops the start.",
        variable("OTEL_EXPORTER_OTLP_PROTOCOL"),
    ),
    Setting(
        "OTEL_TRACES_SAMPLER",
        "parentbased_traceidratio",
        "`parentbased_traceidratio`: the flag of a caller's `traceparent` decides about the trace "
        "that it names. `traceidratio`: the ratio decides about every trace.",
        variable("OTEL_TRACES_SAMPLER"),
    ),
    Setting(
        "OTEL_TRACES_SAMPLER_ARG",
        "1.0",
        "The share of traces that begin here and are recorded, 0 to 1.",
        variable("OTEL_TRACES_SAMPLER_ARG"),
    ),
    Setting(
        "OTEL_SERVICE_NAME",
        "punctual",
        "The name of the service in the receiver.",
        variable("OTEL_SERVICE_NAME"),
    ),
    Setting(
        "OTEL_SDK_DISABLED",
        "false",
        "Whether traces are off although a receiver is named.",
        variable("OTEL_SDK_DISABLED"),
    ),
    Setting(
        "TRACE_URL",
        "",
        "URL of a trace in your tool, with `{trace_id}` in it once; the page of an execution links "
        "to it. Empty: it shows the id alone.",
        knob("trace_url"),
    ),
)
