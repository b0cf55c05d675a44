"""The model: what can be configured, as entities without I/O."""

from brownout.domain.base import Entity, Named, Raw
from brownout.domain.catalog import ALL_FLEETS, Catalog
from brownout.domain.certificates import CertificateNames
from brownout.domain.draft import Draft
from brownout.domain.endpoint import DEFAULT_TIMEOUT, Endpoint, EndpointMatch, Retry
from brownout.domain.errors import BrownoutError, Conflict, NotFound, StaleRevision
from brownout.domain.fault import Fault, Locality, NodeSelector
from brownout.domain.fleet import Fleet, Listener, Mode
from brownout.domain.hosts import ANY_HOST, covers
from brownout.domain.profile import Profile
from brownout.domain.revision import Action, Kind, Revision
from brownout.domain.rules import settled
from brownout.domain.stored import Damage, EndpointList, Stored
from brownout.domain.tls import ListenerTls, UpstreamTls, is_pem
from brownout.domain.upstream import CircuitBreakers, Host, Protocol, Upstream
from brownout.profile import FieldError, ValidationFailed

__all__ = [
    "ALL_FLEETS",
    "ANY_HOST",
    "DEFAULT_TIMEOUT",
    "Action",
    "BrownoutError",
    "Catalog",
    "CertificateNames",
    "CircuitBreakers",
    "Conflict",
    "Damage",
    "Draft",
    "Endpoint",
    "EndpointList",
    "EndpointMatch",
    "Entity",
    "Fault",
    "FieldError",
    "Fleet",
    "Host",
    "Kind",
    "Listener",
    "ListenerTls",
    "Locality",
    "Mode",
    "Named",
    "NodeSelector",
    "NotFound",
    "Profile",
    "Protocol",
    "Raw",
    "Retry",
    "Revision",
    "StaleRevision",
    "Stored",
    "Upstream",
    "UpstreamTls",
    "ValidationFailed",
    "covers",
    "is_pem",
    "settled",
]
