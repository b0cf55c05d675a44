"""A route's `Struct` on Envoy 1.38, which hands it over as protobuf's bytes; others hand over JSON."""

import json

from brownout.profile import MAX_DOCUMENT_BYTES

# Every field of a Struct has this byte, the tag of its value, and no document can: YAML and JSON forbid it.
_TAG_OF_VALUE = b"\x12"
# The tag of a Struct's fields, and YAML's end of a line.
_TAG_OF_FIELD = b"\n"


def struct_as_json(raw: bytes) -> bytes:
    """Return the JSON of a serialised `google.protobuf.Struct`, and any other bytes as they are.

    Wire format: https://protobuf.dev/programming-guides/encoding/
    """
    if not raw.startswith(_TAG_OF_FIELD) or _TAG_OF_VALUE not in raw or len(raw) > MAX_DOCUMENT_BYTES:
        return raw
    # Here, so that an Envoy that needs it not does without.
    from google.protobuf.json_format import MessageToJson  # noqa: PLC0415
    from google.protobuf.message import DecodeError  # noqa: PLC0415
    from google.protobuf.struct_pb2 import Struct  # noqa: PLC0415

    try:
        fields = json.loads(MessageToJson(Struct.FromString(raw)), parse_float=_number)
    except (DecodeError, ValueError):  # no Struct, or with numbers that JSON lacks
        return raw
    return json.dumps(fields).encode()


def _number(text: str) -> int | float:
    """A number as Envoy writes it in JSON: a Struct's are all doubles."""
    value = float(text)
    return int(value) if value.is_integer() else value
