"""The protobuf wire format, as far as splicing and reading discovery messages needs it.

A message is a concatenation of fields, and concatenating two serialised messages merges them; so a big
message can be put together from the cached bytes of its parts, and a stream's nonce is one more field
behind bytes that all streams share. https://protobuf.dev/programming-guides/encoding/
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache

VARINT, I64, LEN, I32 = 0, 1, 2, 5
_FIXED = {I64: 8, I32: 4}


class WireError(ValueError):
    """The bytes are no protobuf message."""


def varint(value: int) -> bytes:
    """Encode a non-negative integer, seven bits a byte, the lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


@lru_cache(maxsize=8192)
def head(number: int, length: int) -> bytes:
    """Encode what stands before the `length` bytes of the length-delimited field `number`."""
    return varint(number << 3 | LEN) + varint(length)


def field(number: int, data: bytes) -> bytes:
    """Encode a length-delimited field: a message, bytes, or an item of a repeated one."""
    return head(number, len(data)) + data


def text(number: int, value: str) -> bytes:
    """Encode a string field; as in proto3 an empty one is left out."""
    return field(number, value.encode()) if value else b""


def repeated(number: int, items: Iterable[bytes]) -> bytes:
    """Encode a repeated message or bytes field."""
    parts: list[bytes] = []
    for item in items:
        parts += (head(number, len(item)), item)
    return b"".join(parts)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Decode the integer at `at`; return it and the offset behind it.

    Raises:
        WireError: The data ends, or the integer has more than 64 bits.
    """
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise WireError("a varint is cut short or too long")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data: bytes) -> Iterator[tuple[int, int, int, int | bytes]]:
    """Yield (number, start, end, value) for each field; `data[start:end]` is the field with its tag.

    The value is an integer for varints, else the raw bytes.

    Raises:
        WireError: The bytes are no message.
    """
    at, size = 0, len(data)
    while at < size:
        start = at
        tag, at = read_varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            value, at = read_varint(data, at)
            yield number, start, at, value
            continue
        if kind == LEN:
            length, at = read_varint(data, at)
        elif kind in _FIXED:
            length = _FIXED[kind]
        else:
            raise WireError(f"field {number} has the unknown wire type {kind}")
        if number == 0 or at + length > size:
            raise WireError(f"field {number} is cut short")
        yield number, start, at + length, data[at : at + length]
        at += length


def string(value: int | bytes) -> str:
    """Return a field's value as the string it must be.

    Raises:
        WireError: It is not UTF-8, or no string field at all.
    """
    if isinstance(value, int):
        raise WireError("a string was expected, not an integer")
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise WireError("a string is not UTF-8") from None


def message(value: int | bytes) -> bytes:
    """Return a field's value as the serialised message it must be."""
    if isinstance(value, int):
        raise WireError("a message was expected, not an integer")
    return value
