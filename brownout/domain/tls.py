"""TLS material: where an Envoy finds it."""

import ssl
from typing import Annotated, Self

from pydantic import AfterValidator, model_validator

from brownout.domain.base import Entity
from brownout.domain.problems import at
from brownout.domain.scalars import Items, Text, distinct

_PEM = "-----BEGIN "


def is_pem(text: str) -> bool:
    """Whether `text` is the material itself (Envoy: `inline_string`), not the path of a file (`filename`)."""
    return text.lstrip().startswith(_PEM)


def _path(value: str) -> str:
    if not value.startswith("/") or "\n" in value:
        raise ValueError("expected the absolute path of a file on the Envoy's host")
    return value


def _certificates(text: str) -> str:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
    except (ssl.SSLError, TypeError, ValueError):  # TypeError: not ASCII
        raise ValueError("expected certificates in PEM, found what cannot be read as such") from None
    return text


def _pem_or_path(value: str) -> str:
    if is_pem(value):
        return _certificates(value)
    try:
        return _path(value)
    except ValueError:
        raise ValueError("expected PEM text, or the absolute path of a file on the Envoy's host") from None


def _not_inline(value: str) -> str:
    if is_pem(value):
        raise ValueError(
            "expected a path: a private key stays on the Envoy's host and never travels through Brownout"
        )
    return _path(value)


Material = Annotated[Text, AfterValidator(_pem_or_path)]
"""PEM text, or the absolute path of a file on the Envoy's host (`is_pem` tells)."""

PrivateKey = Annotated[Text, AfterValidator(_not_inline)]
"""The absolute path of a file on the Envoy's host."""


class UpstreamTls(Entity):
    """How an Envoy speaks TLS to an upstream.

    Attributes:
        sni: Server name sent; null sends none.
        ca: Certificates that the upstream's must be signed by; null verifies nothing.
        subject_alt_names: Names of which the upstream's certificate must carry one; needs `ca`.
        certificate: The Envoy's own certificate (mutual TLS), together with `private_key`.
        private_key: See `certificate`.
    """

    sni: Text | None = None
    ca: Material | None = None
    subject_alt_names: Annotated[tuple[Text, ...], Items, distinct("name")] = ()
    certificate: Material | None = None
    private_key: PrivateKey | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.subject_alt_names and self.ca is None:
            raise at("ca", "is required with subject_alt_names: without it nothing is verified")
        if self.certificate is not None and self.private_key is None:
            raise at("private_key", "is required with certificate")
        if self.private_key is not None and self.certificate is None:
            raise at("certificate", "is required with private_key")
        return self


class ListenerTls(Entity):
    """How a listener speaks TLS to clients; with `client_ca` they must show a certificate signed by it."""

    certificate: Material
    private_key: PrivateKey
    client_ca: Material | None = None
