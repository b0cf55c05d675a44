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
    assert f"| `{variable(name)}` | `{default}` |" in STORAGE.read_text()
