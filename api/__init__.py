"""The REST API under `/api/v1`: FastAPI over the service layer."""

from api.app import Api, create_app

__all__ = ["Api", "create_app"]
