"""The language is light: it is imported inside Envoy."""

import subprocess
import sys

HEAVY = (
    "ruamel.yaml",
    "sqlalchemy",
    "sqlmodel",
    "fastapi",
    "grpc",
    "httpx",
    "numpy",
    "typer",
    "rich",
    "difflib",
)


def loaded(code: str) -> set[str]:
    """Return which heavy modules a fresh interpreter has after running `code`."""
    script = f"import sys; {code}; print(*(name for name in {HEAVY} if name in sys.modules))"
    run = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_importing_it_and_reading_json_imports_nothing_heavy_but_pydantic() -> None:
    json = '{"responses": [{"status": 200, "resolution": 1, "distribution": {"p50": "1ms"}}]}'
    assert loaded(f"from brownout.profile import load_route_config; load_route_config({json!r})") == set()


def test_yaml_is_imported_when_there_is_yaml() -> None:
    assert loaded("from brownout.profile import parse_document; parse_document('a: 1')") == {"ruamel.yaml"}
