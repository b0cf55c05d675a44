"""The profile language: what a fault does, written as YAML or JSON, checked strictly, without any I/O."""

from brownout.profile.behavior import Behavior
from brownout.profile.binding import Binding
from brownout.profile.configuration import EndpointConfig, FilterConfig, RouteConfig
from brownout.profile.distribution import Distribution
from brownout.profile.documents import MAX_DOCUMENT_BYTES, parse_document
from brownout.profile.durations import format_duration, parse_duration
from brownout.profile.errors import FieldError, ValidationFailed
from brownout.profile.headers import Header
from brownout.profile.load_based import GreyZone, LoadBased, Tier
from brownout.profile.loading import load_filter_config, load_profile, load_route_config
from brownout.profile.matching import HeaderMatch, Match
from brownout.profile.responses import LocalResponse, Response
from brownout.profile.wire import SCHEMA_VERSION, canonical_json, dump, filter_wire, route_wire

__all__ = [
    "MAX_DOCUMENT_BYTES",
    "SCHEMA_VERSION",
    "Behavior",
    "Binding",
    "Distribution",
    "EndpointConfig",
    "FieldError",
    "FilterConfig",
    "GreyZone",
    "Header",
    "HeaderMatch",
    "LoadBased",
    "LocalResponse",
    "Match",
    "Response",
    "RouteConfig",
    "Tier",
    "ValidationFailed",
    "canonical_json",
    "dump",
    "filter_wire",
    "format_duration",
    "load_filter_config",
    "load_profile",
    "load_route_config",
    "parse_document",
    "parse_duration",
    "route_wire",
]
