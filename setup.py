"""Builds what Envoy loads: the loader (C) and the engine (Cython).

For tests, into the folder --build-lib: BROWNOUT_SANITIZE=address,undefined or =thread builds an instrumented
engine, BROWNOUT_WITHOUT=number one without a rule of the hold (filter_runtime/engine/rules.pxd).
"""

import io
import os
import sys
import sysconfig
from contextlib import redirect_stderr
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

SANITIZE = os.environ.get("BROWNOUT_SANITIZE", "")
WITHOUT = os.environ.get("BROWNOUT_WITHOUT", "")
ENGINE = "filter_runtime._engine"
LOADER = "filter_runtime.lib.libbrownout"
SOURCES = [*Path("filter_runtime/engine").glob("*.p[xy][dxi]")]


class BuildRuntime(build_ext):
    """Builds the engine, and refuses one whose request path would take the GIL.

    The loader gets the name that Envoy looks for.
    """

    def get_ext_filename(self, fullname: str) -> str:
        if fullname.endswith("libbrownout"):
            return f"{fullname.replace('.', '/')}.so"
        return str(super().get_ext_filename(fullname))

    def finalize_options(self) -> None:
        super().finalize_options()
        if SANITIZE or WITHOUT:
            self.inplace = False
            self.build_temp = f"{self.build_lib}/temp"

    def run(self) -> None:
        Path("filter_runtime/lib").mkdir(exist_ok=True)  # an editable install copies the loader there
        super().run()

    def build_extension(self, ext: Extension) -> None:
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


def engine() -> Extension:
    flags = ["-O3", "-g1", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-unused-function"]
    flags += ["-Wno-unused-parameter", "-Wno-missing-field-initializers"]
    link = []
    if SANITIZE:
        link = [f"-fsanitize={SANITIZE}"]
        flags += ["-O1", "-g", "-fno-omit-frame-pointer", "-fno-sanitize-recover=undefined", *link]
    return Extension(
        ENGINE,
        ["filter_runtime/_engine.pyx"],
        depends=[str(path) for path in [*SOURCES, Path("filter_runtime/loader/table.h")]],
        define_macros=[("BROWNOUT_WITHOUT", WITHOUT)] if WITHOUT else [],
        include_dirs=["filter_runtime/loader"],
        extra_compile_args=flags,
        extra_link_args=link,
    )


def loader() -> Extension:
    built_with = {
        "BROWNOUT_BUILT_PYTHON": sys.executable,
        "BROWNOUT_LIBPYTHON": sysconfig.get_config_var("INSTSONAME"),
        "BROWNOUT_LIBDIR": sysconfig.get_config_var("LIBDIR"),
        "BROWNOUT_MULTIARCH": sysconfig.get_config_var("MULTIARCH") or "-",
    }
    flags = ["-O2", "-g1", "-fvisibility=hidden", "-Wall", "-Wextra"]
    return Extension(
        LOADER,
        [str(path) for path in sorted(Path("filter_runtime/loader").glob("*.c"))],
        depends=[str(path) for path in Path("filter_runtime/loader").glob("*.h")],
        define_macros=[(name, f'"{value}"') for name, value in built_with.items()],
        extra_compile_args=flags,
        extra_link_args=["-Wl,-z,defs", "-ldl"],
    )


setup(ext_modules=[loader(), engine()], cmdclass={"build_ext": BuildRuntime})
