"""`python -m brownout_cli` is the command `brownout`."""

from brownout_cli.main import run

run()
