"""Every use of the configuration."""

from brownout.service.core import POLL_SECONDS
from brownout.service.results import Change, Halted, Page, Plan, Written
from brownout.service.service import Service

__all__ = ["POLL_SECONDS", "Change", "Halted", "Page", "Plan", "Service", "Written"]
