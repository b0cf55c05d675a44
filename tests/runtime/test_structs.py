"""Protobuf's bytes of a `Struct` among the documents that a route's configuration may be."""

import json
from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct
from hypothesis import given
from hypothesis import strategies as st

from brownout.profile import MAX_DOCUMENT_BYTES, ValidationFailed, load_route_config
from filter_runtime.structs import struct_as_json

from .profiles import always

values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def serialised(fields: dict[str, Any]) -> bytes:
    struct = Struct()
    struct.update(fields)
    return struct.SerializeToString()


@given(st.dictionaries(st.text(), values, min_size=1, max_size=4))
def test_a_struct_is_the_json_of_its_fields(fields: dict[str, Any]) -> None:
    assert json.loads(struct_as_json(serialised(fields))) == fields


def test_a_whole_number_stays_one() -> None:
    config = always(503, "1ms", seed=-7)
    assert load_route_config(struct_as_json(serialised(config))) == load_route_config(json.dumps(config))


@given(st.binary(max_size=60).map(lambda tail: b"\n" + tail) | st.binary(max_size=60))
def test_other_bytes_stay_as_they_are(raw: bytes) -> None:
    """What is no Struct is left to the reader of documents, and whatever comes out is one of the two."""
    out = struct_as_json(raw)
    assert out == raw or isinstance(json.loads(out), dict)


@pytest.mark.parametrize("document", ["\nresponses: []\n", "\n\n# a comment\n{}", json.dumps(always(200))])
def test_no_document_is_taken_for_a_struct(document: str) -> None:
    assert struct_as_json(document.encode()) == document.encode()


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_json_lacks_is_refused(number: float) -> None:
    with pytest.raises(ValidationFailed):
        load_route_config(struct_as_json(serialised({"percent": number})))


def test_a_struct_beyond_the_limit_is_not_even_read() -> None:
    raw = serialised({"x": "y" * MAX_DOCUMENT_BYTES})
    assert struct_as_json(raw) is raw
    with pytest.raises(ValidationFailed, match="at most"):
        load_route_config(raw)
