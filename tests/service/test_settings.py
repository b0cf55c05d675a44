"""Settings: arguments, environment, defaults; each documented."""

from pathlib import Path

import pytest

from brownout.profile import ValidationFailed
from brownout.settings import Settings, variable

STORAGE = Path(__file__).parents[2] / "docs" / "explanation" / "storage.md"


def test_an_argument_wins_over_the_environment_and_that_over_the_default() -> None:
    """None is an argument that was not given."""
    environment = {"BROWNOUT_DATABASE": "a.db", "BROWNOUT_POLL": "2s", "BROWNOUT_PYTHON": "not a setting"}
    settings = Settings.read(environment, database="b.db", http=None)
    assert settings == Settings(database="b.db").model_copy(update={"poll": 2_000_000_000})
    assert settings.http == "127.0.0.1:8080"


def test_every_error_names_what_was_given() -> None:
    """The variable or the argument."""
    with pytest.raises(ValidationFailed) as caught:
        Settings.read({"BROWNOUT_POLL": "often"}, database="", colour="red")
    assert [each.path for each in caught.value.errors] == ["database", "BROWNOUT_POLL", "colour"]


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_documented(name: str) -> None:
    """By its variable and with its default."""
    text = STORAGE.read_text()
    assert f"`{variable(name)}`" in text
