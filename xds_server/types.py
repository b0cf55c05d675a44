"""The five resource types, in the order in which they are sent."""

from dataclasses import dataclass
from typing import Final

from brownout.ports import ResourceType

_URL = "type.googleapis.com/envoy.config."


@dataclass(frozen=True, slots=True, eq=False)
class TypeInfo:
    """A resource type.

    Attributes:
        key: Its short name.
        url: Its type URL.
        full_state: Whether a state-of-the-world response holds all resources, so that what is missing is
            deleted, and a first request without names asks for all of them. Both hold for listeners and
            clusters only:
            https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#how-the-client-specifies-what-resources-to-return
    """

    key: ResourceType
    url: str
    full_state: bool = False


CDS: Final = TypeInfo("cds", f"{_URL}cluster.v3.Cluster", full_state=True)
EDS: Final = TypeInfo("eds", f"{_URL}endpoint.v3.ClusterLoadAssignment")
LDS: Final = TypeInfo("lds", f"{_URL}listener.v3.Listener", full_state=True)
RDS: Final = TypeInfo("rds", f"{_URL}route.v3.RouteConfiguration")
ECDS: Final = TypeInfo("ecds", f"{_URL}core.v3.TypedExtensionConfig")

ORDER: Final = (CDS, EDS, LDS, RDS, ECDS)
"""Make before break: what is referred to comes before what refers to it.

https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#eventual-consistency-considerations
"""

BY_URL: Final = {each.url: each for each in ORDER}
