"""Traces by OpenTelemetry: which are sampled, what a span is, and how spans leave the process.

Off unless the operator names a receiver, and then nothing here is called on the way of an
execution. The libraries are an extra, imported by the thread that sends.
"""
