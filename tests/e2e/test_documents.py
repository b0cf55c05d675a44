"""The README and the how-to pages do what they say."""

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.server import clean_environment

ROOT = Path(__file__).resolve().parents[2]
CURL = """
import argparse, httpx
parser = argparse.ArgumentParser()
parser.add_argument("-i", action="store_true")
parser.add_argument("-X", default="GET")
parser.add_argument("-H", action="append", default=[])
parser.add_argument("--data-binary")
parser.add_argument("url")
given = parser.parse_args()
headers = dict(header.split(": ", 1) for header in given.H)
answer = httpx.request(given.X, given.url, headers=headers, content=given.data_binary, trust_env=False)
if given.i:
    print(f"HTTP/1.1 {answer.status_code}")
    print("".join(f"{name}: {value}\\n" for name, value in answer.headers.items()))
print(answer.text)
"""
PAGES = [ROOT / "README.md", *sorted([*(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])]


def blocks(page: Path, language: str, *, after: str = "", before: str = "\0") -> list[str]:
    """The fenced blocks of a language between two headings."""
    text = page.read_text().partition(after)[2] if after else page.read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text.partition(before)[0], re.DOTALL | re.MULTILINE)


@pytest.fixture
def urls(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A fresh `brownout up`."""
    ports = [f"--{name}-port=0" for name in ("http", "xds", "envoy", "admin", "upstream")]
    command = [
        sys.executable,
        "-m",
        "brownout_cli",
        "up",
        "--json",
        "--data-dir",
        str(tmp_path / "data"),
        *ports,
    ]
    with subprocess.Popen(command, env=clean_environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["urls"]
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


@pytest.fixture
def curl(tmp_path: Path) -> Path:
    """A folder with a `curl` that does what the pages need, for machines that have none."""
    command = tmp_path / "bin" / "curl"
    command.parent.mkdir()
    command.write_text(f"#!{sys.executable}\n{CURL}")
    command.chmod(0o755)
    return command.parent


def shell(script: str, urls: dict[str, str], folder: Path, curl: Path | None = None) -> str:
    """Run commands of a page where `brownout up` has other ports than the page says."""
    rest, envoy = (urlsplit(urls[name]).netloc for name in ("rest", "envoy"))
    script = script.replace("127.0.0.1:8080", rest).replace("127.0.0.1:10000", envoy)
    script = script.replace('"$PWD/.venv/bin:$PATH"', '"$PATH"')
    env: dict[str, Any] = clean_environment()
    folders = [str(folder) for folder in (curl, Path(sys.executable).parent) if folder]
    env |= {"BROWNOUT_SERVER": f"http://{rest}", "PATH": ":".join([*folders, env["PATH"]])}
    answer = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        env=env,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, f"{script}\n{answer.stdout}\n{answer.stderr}"
    return answer.stdout


def test_first_ten_minutes(urls: dict[str, str], curl: Path, tmp_path: Path) -> None:
    """Each command of the README's first ten minutes succeeds and shows what the text says."""
    first, edited, fault, own, file, halt = blocks(ROOT / "README.md", "sh", after="## The first ten minutes")
    ours = None if shutil.which("curl") else curl
    outputs = [shell(script, urls, tmp_path, ours) for script in (first, edited, fault, own, file, halt)]
    assert "x-fault-profile: slow-checkout@" in outputs[0]
    assert re.search(r"x-fault-status: (200|503)", outputs[1])
    assert "edge" in outputs[2]
    assert "x-fault-profile: jittery-search@" in outputs[3]
    assert "slow-checkout" in outputs[4]
    assert "x-fault-" not in outputs[5]


def test_add_a_fault(urls: dict[str, str], curl: Path, tmp_path: Path) -> None:
    """The steps of the how-to page lead to a response that was touched."""
    page = ROOT / "docs" / "how-to" / "add-a-fault.md"
    [profile] = blocks(page, "yaml")
    (tmp_path / "slow-login.yaml").write_text(profile)
    for script in blocks(page, "sh"):
        shell(script, urls, tmp_path, curl)
    shell("brownout fault set edge/login slow-login --wait", urls, tmp_path)
    assert "x-fault-profile: slow-login@" in shell(
        "curl -i http://127.0.0.1:10000/login", urls, tmp_path, curl
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links(page: Path) -> None:
    """Every link to a file of the repository leads to one."""
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_examples(urls: dict[str, str], curl: Path, tmp_path: Path) -> None:
    """Every example is taken as it is, and the examples' page names them all."""
    page = (ROOT / "examples" / "README.md").read_text()
    for profile in sorted((ROOT / "examples" / "profiles").iterdir()):
        assert f"(profiles/{profile.name})" in page
        shell(f"brownout profile set {profile.stem} -f {profile}", urls, tmp_path, curl)
    shell(f"brownout apply -f {ROOT / 'examples' / 'shop.yaml'}", urls, tmp_path, curl)
    assert "nothing" in shell(f"brownout plan -f {ROOT / 'examples' / 'shop.yaml'}", urls, tmp_path, curl)
