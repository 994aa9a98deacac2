"""Traces and figures by OpenTelemetry, if its API is installed; otherwise all of this does nothing.

A put writes the context of the span in which it happens into the headers of the job (`traceparent`,
`tracestate`, as W3C Trace Context has them). A handler runs in a span of its own, which links to that
one: between both may lie days.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

try:
    from opentelemetry import metrics, propagate, trace
except ImportError:  # no dependency
    metrics = propagate = trace = None

_instruments: dict[str, Any] = {}


def installed() -> bool:
    """Whether OpenTelemetry's API is there."""
    return trace is not None


def headers() -> dict[str, str]:
    """The headers that a put gets from the span in which it happens."""
    if trace is None:
        return {}
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return carrier


@contextlib.contextmanager
def handling(tube: str, job: int, attempt: int, carrier: Mapping[str, str]) -> Iterator[None]:
    """A span for one run of a handler. An exception that leaves it is recorded by the API itself."""
    if trace is None:
        yield
        return
    put = trace.get_current_span(propagate.extract(dict(carrier))).get_span_context()
    with trace.get_tracer("elapse").start_as_current_span(
        f"{tube} process",
        kind=trace.SpanKind.CONSUMER,
        links=[trace.Link(put)] if put.is_valid else [],
        attributes={
            "messaging.system": "elapse",
            "messaging.destination.name": tube,
            "messaging.message.id": str(job),
            "elapse.attempt": attempt,
        },
    ):
        yield


def handled(tube: str, outcome: str, took_s: float) -> None:
    """Counts one run of a handler: `outcome` is done, failed, retry, buried, cancelled or lost."""
    if metrics is None:
        return
    if not _instruments:
        meter = metrics.get_meter("elapse")
        _instruments["jobs"] = meter.create_counter("elapse.jobs", description="runs of handlers, by their outcome")
        _instruments["time"] = meter.create_histogram(
            "elapse.job.duration", unit="s", description="how long handlers ran"
        )
    labels = {"tube": tube, "outcome": outcome}
    _instruments["jobs"].add(1, labels)
    _instruments["time"].record(took_s, labels)
