"""Builds what Envoy loads: the engine (Cython).

BROWNOUT_SANITIZE=address,undefined or =thread builds an instrumented engine into build/sanitize-… instead.
"""

import io
import os
import sys
from contextlib import redirect_stderr
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

SANITIZE = os.environ.get("BROWNOUT_SANITIZE", "")
ENGINE = "filter_runtime._engine"
SOURCES = [*Path("filter_runtime").glob("*.p[yx][xdi]"), *Path("filter_runtime/engine").glob("*.p[xy][dxi]")]


class BuildRuntime(build_ext):
    """Builds the engine, and refuses one whose request path would take the GIL."""

    def finalize_options(self):
        super().finalize_options()
        if SANITIZE:
            self.inplace = False
            self.build_lib = f"build/sanitize-{SANITIZE.replace(',', '-')}"
            self.build_temp = f"{self.build_lib}/temp"

    def build_extension(self, ext):
        said = io.StringIO()
        try:
            with redirect_stderr(said):
                super().build_extension(ext)
        finally:
            sys.stderr.write(said.getvalue())
        # Cython only hints at it when a call in nogil code takes the GIL to look for an exception.
        if "performance hint:" in said.getvalue():
            Path(self.get_ext_fullpath(ext.name)).unlink(missing_ok=True)
            Path("filter_runtime/_engine.c").unlink(missing_ok=True)
            sys.exit("the engine was not built: Cython's performance hints above are errors here")


def engine():
    flags = ["-O3", "-g1", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-unused-function"]
    flags += ["-Wno-unused-parameter", "-Wno-missing-field-initializers"]
    link = []
    if SANITIZE:
        link = [f"-fsanitize={SANITIZE}"]
        flags += ["-O1", "-g", "-fno-omit-frame-pointer", "-fno-sanitize-recover=undefined", *link]
    return Extension(
        ENGINE,
        ["filter_runtime/_engine.pyx"],
        depends=[str(path) for path in SOURCES],
        extra_compile_args=flags,
        extra_link_args=link,
    )


setup(ext_modules=[engine()], cmdclass={"build_ext": BuildRuntime})
