"""What a release consists of is right: versions, addresses, licences, workflows, bill of materials."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from dev import __main__ as front
from dev import release, sbom
from dev.archives import SUFFIX
from dev.wheel import PLATFORMS
from packaging_support import ROOT, run

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TOOLS = ROOT / ".venv-systems/release/bin"  # third_party/python/release.txt


def tool(name: str) -> list[Path]:
    """The words that run it. A script goes to the interpreter: its first line has the path at which the
    environment was made, and a clone may move."""
    if not (TOOLS / name).exists():
        pytest.skip(f"no {name} (./dev test --all installs third_party/python/release.txt)")
    is_script = (TOOLS / name).read_bytes().startswith(b"#!")
    return [*([TOOLS / "python"] if is_script else []), TOOLS / name]


def in_git() -> list[str]:
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("not a clone")
    return run("git", "ls-files", cwd=ROOT).splitlines()


# ---- versions and addresses ---------------------------------------------------------------------


def test_every_file_has_the_version_of_the_header():
    assert set(release.repeated(ROOT).values()) == {release.version(ROOT)}


def test_a_new_version_is_written_everywhere(tmp_path):
    for name in {release.HEADER, *(place.file for place in release.PLACES)}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)

    release.write_version(tmp_path, "7.18.29")

    assert release.version(tmp_path) == "7.18.29"
    assert set(release.repeated(tmp_path).values()) == {"7.18.29"}
    for place in release.PLACES:
        old, new = ((folder / place.file).read_text() for folder in (ROOT, tmp_path))
        assert len(old.splitlines()) == len(new.splitlines())


def test_all_addresses_are_those_of_pyproject():
    urls = (ROOT / "pyproject.toml").read_text().split("[project.urls]")[1].split("[")[0]
    known = set(re.findall(r'= "(https://[^"]*)"', urls))
    host = {url.split("/")[2] for url in known}
    assert len(host) == 1
    for name in in_git():
        if name.endswith((".svg", ".png", ".corpus")) or not (ROOT / name).is_file():
            continue
        text = (ROOT / name).read_bytes().decode(errors="replace")
        for found in re.findall(rf"https://{re.escape(*host)}[\w/.-]*", text):
            assert any(found.rstrip("/").startswith(url.rstrip("/")) for url in known), (
                f"{name}: {found}"
            )


def test_what_stands_in_the_way_of_a_release(tmp_path):
    for name in {
        release.HEADER,
        "CHANGELOG.md",
        "pyproject.toml",
        *(p.file for p in release.PLACES),
    }:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    release.write_version(tmp_path, "1.2.3")
    (tmp_path / "CITATION.cff").write_text("version: 1.2.2\n")

    found = "\n".join(release.problems(tmp_path, "v1.2.4"))

    for words in (
        "CITATION.cff has version 1.2.2",
        "## [1.2.3] YYYY-MM-DD",
        "v1.2.4",
        "placeholders",
    ):
        assert words in found
    release.write_version(tmp_path, "1.2.3")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [1.2.3] 2026-12-01\n")
    (tmp_path / "pyproject.toml").write_text("")
    assert release.problems(tmp_path, "v1.2.3") == []


def test_the_notes_of_a_release_are_its_part_of_the_changelog(tmp_path):
    for name in (release.HEADER, "pyproject.toml", "cmake/pypi_readme.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    now = release.version(ROOT)
    changes = f"## [{now}] 2026-12-01\n\n- New: [a page](docs/a.md).\n\n### Fixed\n\n- B.\n\n"
    (tmp_path / "CHANGELOG.md").write_text(
        f"# Changelog\n\n{changes}## [0.0.1] 2025-01-01\n\nOld.\n"
    )

    address = release.repository(ROOT)
    expected = f"- New: [a page]({address}/blob/main/docs/a.md).\n\n### Fixed\n\n- B.\n"
    assert address.startswith("https://")
    assert release.notes(tmp_path) == expected

    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n")
    with pytest.raises(release.Failed, match=rf"no heading '## \[{now}\] YYYY-MM-DD'"):
        release.notes(tmp_path)


def test_the_time_of_a_build(tmp_path, monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    assert release.source_date(tmp_path) == release.WITHOUT_GIT

    (tmp_path / ".git").mkdir()
    git = tmp_path / "git"
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    for script, said in (
        ("echo 1700000000", ""),
        ("echo 'call: git config --global --add safe.directory' >&2; exit 128", "safe.directory"),
    ):
        git.write_text(f"#!/bin/sh\n{script}\n")
        git.chmod(0o755)
        if said:
            with pytest.raises(release.Failed, match=said):
                release.source_date(tmp_path)
        else:
            assert release.source_date(tmp_path) == 1700000000
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with pytest.raises(release.Failed, match="git"):
        release.source_date(tmp_path)

    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1600000000")
    assert release.source_date(tmp_path) == 1600000000
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(release.Failed, match="'yesterday', not a number of seconds"):
        release.source_date(tmp_path)


def test_checksums_are_those_that_sha256sum_reads(tmp_path):
    (tmp_path / "a.whl").write_bytes(b"a")
    (tmp_path / "b").write_bytes(b"")
    (tmp_path / release.SUMS).write_text(release.checksums(tmp_path))

    assert (
        run("sha256sum", "-c", release.SUMS, cwd=tmp_path, env={"LC_ALL": "C"})
        == "a.whl: OK\nb: OK\n"
    )
    assert release.SUMS not in release.checksums(tmp_path)


def test_readme_has_absolute_links_on_an_index():
    sys.path.insert(0, str(ROOT / "cmake"))
    try:
        import pypi_readme
    finally:
        sys.path.pop(0)
    text = pypi_readme.absolute((ROOT / "README.md").read_text(), "https://x/y")

    links = re.findall(r"\]\(([^)]*)\)", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
    assert links
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    assert "![The output of ./dev demo](https://x/y/raw/main/docs/demo.svg)" in text


# ---- workflows ----------------------------------------------------------------------------------


def commands() -> list[str]:
    found = []
    for path in WORKFLOWS:
        for block, line in re.findall(
            r"^ +(?:- )?run: (?:\|\n((?: {10}.*\n)+)|(.*))", path.read_text(), re.M
        ):
            found += [part.strip() for part in (block or line).splitlines()]
    return found


def test_workflows_call_dev_only():
    """Beside what prepares a bare machine, and what publishes."""
    others = {line.split()[0] for line in commands() if not line.startswith("./dev ")}

    assert others == {"apt-get", "git", "mkdir", "mv", "gh"}


def test_git_works_in_containers():
    """Where the clone belongs to another user."""
    for path in WORKFLOWS:
        text = path.read_text()
        assert text.count("container:") == text.count("--add safe.directory"), path.name


def test_every_command_of_a_workflow_exists():
    words = [line.split()[1] for line in commands() if line.startswith("./dev ")]

    assert {"test", "wheel", "docs", "release", "sbom"} <= set(words)
    assert set(words) <= set(front.COMMANDS)


def test_the_index_gets_the_wheels_and_the_source_distribution_alone():
    """It refuses all else, such as the archives for C."""
    wheels = [f"libdlx-1.2.3-py3-none-{platform.tag}.whl" for platform in PLATFORMS]
    archives = [f"libdlx-1.2.3-{platform.name}{SUFFIX}" for platform in PLATFORMS]
    files = [*wheels, "libdlx-1.2.3.tar.gz", *archives, "libdlx.spdx.json", "SHA256SUMS"]
    [[_, *patterns, _]] = [line.split() for line in commands() if line.startswith("mv ")]

    moved = [name for name in files if any(fnmatch(f"dist/{name}", p) for p in patterns)]

    assert moved == [*wheels, "libdlx-1.2.3.tar.gz"]


def test_workflows_have_the_least_rights():
    for path in WORKFLOWS:
        text = path.read_text()
        assert re.search(r"^permissions:\n  contents: read\n", text, re.M), path.name
        assert text.count("actions/checkout@") == text.count("persist-credentials: false"), (
            path.name
        )
        assert "secrets." not in text, path.name


def test_nothing_is_public_before_all_is_there():
    """A draft with the files, then the index, then the draft becomes the release. gh takes notes out of no
    tag, because the clone of a workflow has the commit in place of the tag."""
    text = (ROOT / ".github/workflows/release.yml").read_text()
    steps = (
        "actions/checkout@",
        "--draft --notes-file",
        "gh-action-pypi-publish@",
        "--draft=false",
    )
    places = [text.index(step, text.index("\n  publish:")) for step in steps]

    assert places == sorted(places)
    assert "notes-from-tag" not in text


@pytest.mark.parametrize(("verified", "status"), [("true", 0), ("false", 5)])
def test_a_tag_without_a_good_signature_is_refused(verified, status):
    if not shutil.which("jq"):
        pytest.skip("no jq")
    [query] = re.findall(r"--jq '(.*)'", (ROOT / ".github/workflows/release.yml").read_text())
    answer = f'{{"verification": {{"verified": {verified}, "reason": "unsigned"}}}}'

    done = subprocess.run(["jq", query], input=answer, capture_output=True, text=True)

    assert done.returncode == status
    assert ("the tag: unsigned" in done.stderr) == bool(status)


@pytest.mark.heavy
def test_workflows_follow_their_schema():
    run(*tool("check-jsonschema"), "--builtin-schema", "vendor.github-workflows", *WORKFLOWS)
    run(
        *tool("check-jsonschema"),
        "--builtin-schema",
        "custom.github-workflows-require-timeout",
        *WORKFLOWS,
    )
    run(
        *tool("check-jsonschema"),
        "--builtin-schema",
        "vendor.dependabot",
        ROOT / ".github/dependabot.yml",
    )


@pytest.mark.heavy
def test_workflows_are_not_open_to_attacks():
    run(*tool("zizmor"), "--offline", "-q", ROOT / ".github")


@pytest.mark.heavy
def test_workflows_and_actionlint():
    run(*tool("actionlint"), *WORKFLOWS)


# ---- licences and bill of materials -------------------------------------------------------------


def test_one_licence():
    assert (ROOT / "LICENSES/Apache-2.0.txt").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.mark.heavy
def test_every_file_has_copyright_and_licence():
    in_git()
    assert "compliant with version" in run(
        *tool("reuse"), "--root", ROOT, "lint", env=dict(os.environ)
    )


def test_the_bill_of_materials_is_reproducible_and_complete():
    one, two = (json.dumps(sbom.document(ROOT, 1_700_000_000)) for _ in range(2))
    files = {file["fileName"] for file in json.loads(one)["files"]}

    assert one == two
    assert {"./include/dlx/dlx.h", "./bindings/python/dlx/__init__.py"} <= files
    assert not [name for name in files if "__pycache__" in name]


@pytest.mark.heavy
def test_the_bill_of_materials_has_all_of_a_wheel(unpacked, wheel_tree):
    """Each file of the packages, by its hash, and each source that was compiled."""
    files: list[dict] = sbom.document(ROOT, 0)["files"]
    hashes = {file["checksums"][1]["checksumValue"] for file in files}
    names = {file["fileName"] for file in files}
    units = json.loads(run("ninja", "-C", wheel_tree, "-t", "compdb"))
    compiled = {unit["file"] for unit in units if unit["file"].endswith(".cc")}

    here = [path for path in unpacked.rglob("*") if path.is_file()]
    packed = [path for path in here if "dist-info" not in str(path) and ".so" not in path.name]
    assert len(packed) > 50
    assert [p for p in packed if hashlib.sha256(p.read_bytes()).hexdigest() not in hashes] == []
    assert len(compiled) > 50
    assert [p for p in compiled if f"./{Path(p).relative_to(ROOT)}" not in names] == []


@pytest.mark.heavy
def test_the_bill_of_materials_is_spdx(tmp_path):
    file = tmp_path / "libdlx.spdx.json"
    file.write_text(json.dumps(sbom.document(ROOT, 1_700_000_000)))

    done = subprocess.run([*tool("pyspdxtools"), "-i", file], capture_output=True, text=True)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "not a valid" not in done.stdout + done.stderr


@pytest.mark.heavy
def test_an_index_takes_the_metadata(wheel):
    assert "PASSED" in run(*tool("twine"), "check", "--strict", wheel)


@pytest.mark.heavy
def test_citation():
    schema = "vendor.citation-file-format"
    run(*tool("check-jsonschema"), "--builtin-schema", schema, ROOT / "CITATION.cff")
