#!/bin/sh
# Says plainly what this machine lacks to build Brownout, and how to get it. Usage: prerequisites.sh [PYTHON]
python=${1:-python3}
missing=0

lack() {  # lack WHAT HOW
    printf 'missing: %s\n    get it: %s\n' "$1" "$2" >&2
    missing=1
}

if ! command -v "$python" >/dev/null 2>&1; then
    lack "$python (Python 3.11 or newer)" "apt-get install python3 python3-dev python3-venv"
    exit 1
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    lack "Python 3.11 or newer ($python is $("$python" -V 2>&1))" "name one: make PYTHON=python3.12 …"
    exit 1
fi
"$python" -c 'import venv, ensurepip' 2>/dev/null ||
    lack "the venv module of $python" "apt-get install python3-venv"
if command -v cc >/dev/null 2>&1; then
    printf 'int main(void) { return 0; }\n' | cc -x c -o /dev/null - 2>/dev/null ||
        lack "a C compiler that links programs (cc is there, but fails)" "apt-get install build-essential"
else
    lack "a C compiler (cc)" "apt-get install build-essential"
fi
"$python" - <<'PY' || lack "the C headers of $python (Python.h)" "apt-get install python3-dev"
import pathlib, sys, sysconfig
sys.exit(not (pathlib.Path(sysconfig.get_path("include")) / "Python.h").is_file())
PY
"$python" - <<'PY' || lack "a shared libpython for $python" "apt-get install python3-dev, or with pyenv: PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install VERSION"
import ctypes, os, sys, sysconfig
names = {sysconfig.get_config_var("INSTSONAME"), sysconfig.get_config_var("LDLIBRARY")}
folders = (sysconfig.get_config_var("LIBDIR"), "")
for name in names:
    for folder in folders:
        if name and ".so" in name:
            try:
                ctypes.CDLL(os.path.join(folder, name) if folder else name)
            except OSError:
                continue
            sys.exit(0)
sys.exit(1)
PY
# The tests alone use it, so nothing else waits for it.
if ! command -v h2load >/dev/null 2>&1; then
    how="apt-get install nghttp2-client"
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        { apt-get install -qq -y --no-install-recommends nghttp2-client ||
            { apt-get update -qq && apt-get install -qq -y --no-install-recommends nghttp2-client; }
        } >/dev/null 2>&1
    fi
    command -v h2load >/dev/null 2>&1 ||
        printf 'missing for the tests: h2load\n    get it: %s\n' "$how" >&2
fi
exit $missing
