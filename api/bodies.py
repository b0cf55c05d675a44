"""Request bodies: JSON or YAML, one document, read strictly and within limits."""

import asyncio
import json
from typing import Any, NoReturn

from starlette.requests import Request

from api.problems import Malformed, TooLarge, Unsupported
from brownout.profile import MAX_DOCUMENT_BYTES, ValidationFailed, parse_document

JSON = "application/json"
YAML = "application/yaml"
YAML_TYPES = (YAML, "application/x-yaml", "text/yaml", "text/x-yaml")

MAX_BODY = MAX_DOCUMENT_BYTES
"""Bytes of an entity; as much as the profile language reads."""

MAX_CONFIGURATION = 16 * MAX_BODY
"""Bytes of a whole configuration."""

_AT_ONCE = 1 << 16
"""Bytes of JSON that are parsed on the event loop (a millisecond); more, and all YAML, goes to a thread."""


async def read_document(request: Request, *, yaml: bool, limit: int = MAX_BODY) -> Any:
    """Parse the request's body; an empty one is an error.

    Args:
        request: the request.
        yaml: whether YAML is read here besides JSON.
        limit: bytes that are read.

    Raises:
        Unsupported: another content type or encoding (415).
        TooLarge: more than `limit` bytes (413).
        Malformed: not one well-formed document (400), with line and column.
    """
    media_type = _media_type(request, yaml=yaml)
    raw = await _read(request, limit)
    if media_type == JSON and len(raw) <= _AT_ONCE:
        return _parse(raw, media_type, limit)
    # ruamel.yaml needs seconds for what json needs milliseconds.
    return await asyncio.to_thread(_parse, raw, media_type, limit)


def _parse(raw: bytes, media_type: str, limit: int) -> Any:
    if not raw.strip():
        raise Malformed("the body is empty", [("", "expected one document")])
    if media_type == JSON:
        _check_json(raw)
    try:
        return parse_document(raw, max_bytes=limit)
    except ValidationFailed as failed:
        raise Malformed(
            "the body is not one well-formed document",
            [(error.path, error.message) for error in failed.errors],
        ) from failed


def _media_type(request: Request, *, yaml: bool) -> str:
    accepted = (JSON, *YAML_TYPES) if yaml else (JSON,)
    encoding = request.headers.get("content-encoding", "identity")
    if encoding.lower() != "identity":
        raise Unsupported(f"Content-Encoding {encoding} is not read; send the body as it is", accepted)
    media_type, _, parameters = request.headers.get("content-type", "").partition(";")
    media_type = media_type.strip().lower()
    if media_type not in accepted:
        got = media_type or "a body without Content-Type"
        expected = f"Content-Type: {JSON} or {YAML}" if yaml else f"Content-Type: {JSON}"
        raise Unsupported(f"expected {expected}, not {got}", accepted)
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip().strip('"').lower() not in {"utf-8", "utf8"}:
            raise Unsupported(f"the body must be UTF-8, not {value.strip()}", accepted)
    return media_type


async def _read(request: Request, limit: int) -> bytes:
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        raise TooLarge(limit)
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > limit:
            raise TooLarge(limit)
    return bytes(raw)


def _check_json(raw: bytes) -> None:
    """Refuse what is YAML but not JSON, and say where the JSON ends being well-formed."""
    try:
        # Numbers are read by whoever parses it: one of 5,000 digits has a place to be named there.
        json.loads(raw.decode("utf-8-sig"), parse_int=str, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise Malformed(
            "the body is not well-formed JSON",
            [("", f"line {error.lineno}, column {error.colno}: {error.msg}")],
        ) from error
    except UnicodeDecodeError as error:
        raise Malformed("the body is not UTF-8", [("", f"byte {error.start} starts no character")]) from error
    except RecursionError as error:
        raise Malformed("the body is nested too deeply", [("", "expected far fewer levels")]) from error
    except ValueError as error:
        raise Malformed("the body is not well-formed JSON", [("", str(error))]) from error


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
