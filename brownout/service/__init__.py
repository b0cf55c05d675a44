"""Every use of the configuration."""

from brownout.service.results import Change, Halted, Page, Plan, Written
from brownout.service.service import Service

__all__ = ["Change", "Halted", "Page", "Plan", "Service", "Written"]
