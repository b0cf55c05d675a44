"""Settings: checked like every document, each explained."""

from pathlib import Path

import pytest

from brownout.profile import ValidationFailed
from brownout.settings import Settings, variable

STORAGE = Path(__file__).parents[2] / "docs" / "explanation" / "storage.md"


def test_every_error_is_reported_at_once() -> None:
    """With the name of the setting."""
    with pytest.raises(ValidationFailed) as caught:
        Settings.load({"database": "", "poll": "often", "colour": "red"})
    assert [each.path for each in caught.value.errors] == ["database", "poll", "colour"]


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_explained(name: str) -> None:
    """By its variable and with its default."""
    default = Settings().document()[name]
    shown = "none" if default is None else f"`{default}`"
    assert f"| `{variable(name)}` | {shown} |" in STORAGE.read_text()


@pytest.mark.parametrize(
    ("given", "path", "message"),
    [
        (["xds_cert"], "xds_key", "is required with xds_cert"),
        (["xds_key"], "xds_cert", "is required with xds_key"),
        (["xds_client_ca"], "xds_cert", "is required with xds_client_ca"),
    ],
)
def test_tls_needs_certificate_and_key(given: list[str], path: str, message: str) -> None:
    """One without the other says which is missing."""
    with pytest.raises(ValidationFailed) as caught:
        Settings.load(dict.fromkeys(given, "/file"))
    assert [(each.path, each.message) for each in caught.value.errors] == [(path, message)]


def test_polling_needs_a_pause() -> None:
    """Without one it would be all that the process does."""
    with pytest.raises(ValidationFailed, match="poll: expected a duration above zero"):
        Settings.load({"poll": "0s"})
