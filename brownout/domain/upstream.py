"""An upstream: a real backend, an Envoy cluster."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from brownout.domain.base import Entity, Named
from brownout.domain.hosts import is_host_name, is_ip, same_address
from brownout.domain.problems import at
from brownout.domain.revision import Kind
from brownout.domain.scalars import Items, NotEmpty, Port, PositiveDuration, distinct
from brownout.domain.tls import UpstreamTls
from brownout.profile.errors import quoted

_HIGH = 1_000_000
_SECOND = 1_000_000_000

Protocol = Literal["http1", "http2"]


def _address(value: str) -> str:
    if not is_ip(value) and not is_host_name(value):
        raise ValueError(f"expected an IP address or a host name, found {quoted(value)}")
    return value


class Host(Entity):
    """One address of an upstream: an IP address (IPv6 without brackets) or a host name."""

    address: Annotated[str, AfterValidator(_address)]
    port: Port

    @property
    def is_ip(self) -> bool:
        """Whether the address needs no DNS."""
        return is_ip(self.address)


def _place(host: Host) -> object:
    return same_address(host.address), host.port


class CircuitBreakers(Entity):
    """Envoy's four thresholds.

    High by default, since Envoy's `max_retries: 3` would leave most injected failures unretried.
    """

    max_connections: Annotated[int, Field(ge=0, le=2**32 - 1)] = _HIGH
    max_pending_requests: Annotated[int, Field(ge=0, le=2**32 - 1)] = _HIGH
    max_requests: Annotated[int, Field(ge=0, le=2**32 - 1)] = _HIGH
    max_retries: Annotated[int, Field(ge=0, le=2**32 - 1)] = _HIGH


class Upstream(Named):
    """A backend.

    Its hosts are all IP addresses (EDS) or all host names (STRICT_DNS): Envoy has no cluster of both.
    """

    kind: ClassVar[Kind] = "upstream"

    hosts: Annotated[tuple[Host, ...], Items, NotEmpty, distinct("address and port", _place)]
    protocol: Protocol = "http1"
    tls: UpstreamTls | None = None
    connect_timeout: PositiveDuration = _SECOND
    circuit_breakers: CircuitBreakers = CircuitBreakers()

    @property
    def discovery(self) -> Literal["eds", "strict_dns"]:
        """How an Envoy learns the hosts."""
        return "eds" if self.hosts[0].is_ip else "strict_dns"

    @model_validator(mode="after")
    def _one_kind_of_hosts(self) -> Self:
        for index, host in enumerate(self.hosts):
            if host.is_ip != self.hosts[0].is_ip:
                kind = "an IP address" if self.hosts[0].is_ip else "a host name"
                raise at(
                    f"hosts[{index}].address",
                    f"expected {kind}, as hosts[0] is: addresses and names cannot be mixed in one upstream",
                )
        return self
