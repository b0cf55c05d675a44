"""The oracle's assertions explain themselves."""

import pytest

pytest.register_assert_rewrite("tests.runtime.matrix.oracle", "tests.runtime.matrix.play")
