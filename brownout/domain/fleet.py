"""A fleet: the Envoys that share a configuration."""

from ipaddress import IPv6Address, ip_address
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, model_validator

from brownout.domain.base import Entity, Named
from brownout.domain.certificates import CertificateNames, CertificatePattern
from brownout.domain.hosts import same_address
from brownout.domain.problems import at
from brownout.domain.revision import Kind
from brownout.domain.scalars import Items, Name, Port, distinct
from brownout.domain.tls import ListenerTls
from brownout.profile.errors import quoted

Mode = Literal["gateway", "routes", "filter"]


def _bindable(value: str) -> str:
    try:
        address = ip_address(value)
    except ValueError:
        raise ValueError(
            f'expected an IP address to listen on, like "0.0.0.0" or "::1", found {quoted(value)}'
        ) from None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        raise ValueError(f'expected "{address.ipv4_mapped}": Envoy cannot listen on {quoted(value)}')
    return value


class Listener(Entity):
    """Where the Envoys of a `gateway` fleet accept requests."""

    name: Name
    address: Annotated[str, AfterValidator(_bindable)]
    port: Port
    tls: ListenerTls | None = None


class Fleet(Named):
    """A fleet; an Envoy belongs to it by its `node.cluster`.

    `mode` never changes after creation: `gateway` (Brownout owns the Envoy's configuration), `routes` (the
    Envoy has its own listeners), `filter` (the Envoy has everything, and gets the filter's configuration).

    With `certificates` only an Envoy whose certificate has one of these names may join.
    """

    kind: ClassVar[Kind] = "fleet"

    mode: Mode = "gateway"
    listeners: Annotated[
        tuple[Listener, ...],
        Items,
        distinct("name", lambda listener: listener.name),
        distinct("address and port", lambda listener: (same_address(listener.address), listener.port)),
    ] = ()
    certificates: Annotated[tuple[CertificatePattern, ...], Items, distinct("name")] = ()

    def admits(self, names: CertificateNames | None) -> bool:
        """Whether an Envoy with such a certificate, or None with none, may belong to the fleet."""
        return not self.certificates or (names is not None and names.match(self.certificates))

    @model_validator(mode="after")
    def _listeners_fit_the_mode(self) -> Self:
        if self.mode == "gateway" and not self.listeners:
            raise at("listeners", 'a fleet of mode "gateway" needs at least one')
        if self.mode != "gateway" and self.listeners:
            raise at("listeners", f'have no meaning in mode "{self.mode}": the Envoys have their own')
        return self
