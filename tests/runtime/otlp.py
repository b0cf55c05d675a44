"""Spans out of an OTLP export request, read by hand: only what the tests look at.

https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/trace/v1/trace.proto
"""

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class Span:
    """A span's name, and its attributes that have text values."""

    name: str = ""
    attributes: dict[str, str] = field(default_factory=dict)


def spans(request: bytes) -> list[Span]:
    """The spans of an ExportTraceServiceRequest."""
    return [
        _span(span)
        for resource_spans in _children(request, 1)
        for scope_spans in _children(resource_spans, 2)
        for span in _children(scope_spans, 2)
    ]


def _span(message: bytes) -> Span:
    (name,) = _children(message, 5)
    span = Span(name.decode())
    for attribute in _children(message, 9):
        (key,) = _children(attribute, 1)
        for value in _children(attribute, 2):
            for text in _children(value, 1):
                span.attributes[key.decode()] = text.decode()
    return span


def _children(message: bytes, wanted: int) -> list[bytes]:
    return [value for number, value in _fields(message) if number == wanted]


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The length-delimited fields of a message."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == 0:
            _, at = _varint(message, at)
        elif kind == 1:
            at += 8
        elif kind == 5:
            at += 4
        else:
            length, at = _varint(message, at)
            yield tag >> 3, message[at : at + length]
            at += length


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (message[at] & 0x7F) << shift
        shift += 7
        at += 1
        if message[at - 1] < 0x80:
            return value, at
