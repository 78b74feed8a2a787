from __future__ import annotations

import urllib.request

from bench.trace_sink import trace_sink


def test_a_post_is_taken_and_counted():
    with trace_sink() as sink:
        url = f"{sink.environment(0.5)['OTEL_EXPORTER_OTLP_ENDPOINT']}/v1/traces"
        with urllib.request.urlopen(url, data=b"12345") as answer:
            assert answer.status == 200

        assert (sink.posts, sink.bytes) == (1, 5)
    assert sink.environment(0.01)["OTEL_TRACES_SAMPLER_ARG"] == "0.01"
