"""The REST API under `/api/v1`: FastAPI over the service layer."""
