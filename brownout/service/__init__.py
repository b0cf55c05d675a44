"""Every use of the configuration."""

from brownout.service.core import POLL_SECONDS
from brownout.service.paging import DEFAULT_LIMIT, MAX_LIMIT
from brownout.service.results import Change, Halted, Page, Plan, Written
from brownout.service.service import Service

__all__ = [
    "DEFAULT_LIMIT",
    "MAX_LIMIT",
    "POLL_SECONDS",
    "Change",
    "Halted",
    "Page",
    "Plan",
    "Service",
    "Written",
]
