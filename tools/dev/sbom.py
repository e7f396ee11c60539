"""./dev sbom FILE: a software bill of materials (SPDX 2.3, JSON) of the library and the wheel.

dlx has no dependencies. What it contains of others is linked statically: of GCC in a build from source, of
LLVM, mingw-w64 and Zig in the wheels of ./dev wheel --all.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from pathlib import Path

from .release import PLACEHOLDER, repository, source_date, version
from .shell import Failed, Shell

FOLDERS = ("bindings/python", "capi", "include", "src")
GCC = ("Organization: Free Software Foundation", "GPL-3.0-or-later WITH GCC-exception-3.1")
LLVM = ("Organization: The LLVM Project", "Apache-2.0 WITH LLVM-exception")
COMPILER = {
    # name: supplier, licence
    "libstdc++": GCC,
    "libgcc": GCC,
    "libc++": LLVM,
    "libc++abi": LLVM,
    "libunwind": LLVM,
    "compiler-rt": ("Organization: Zig Software Foundation", "MIT"),
    "mingw-w64": ("Organization: The mingw-w64 project", "ZPL-2.1"),
}


def sources(root: Path) -> list[Path]:
    files = (path for folder in FOLDERS for path in (root / folder).rglob("*"))
    return sorted(path for path in files if path.is_file() and "__pycache__" not in path.parts)


def document(root: Path, epoch: int) -> dict[str, object]:
    """The same bytes for the same tree and time."""
    now = version(root)
    files: list[dict[str, object]] = []
    sums: list[str] = []
    for path in sources(root):
        data = path.read_bytes()
        sha1 = hashlib.sha1(data).hexdigest()
        sums.append(sha1)
        files.append(
            {
                "SPDXID": f"SPDXRef-File-{len(files)}",
                "fileName": f"./{path.relative_to(root)}",
                "checksums": [
                    {"algorithm": "SHA1", "checksumValue": sha1},
                    {"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()},
                ],
                "licenseConcluded": "Apache-2.0",
                "licenseInfoInFiles": ["NOASSERTION"],
                "copyrightText": "the dlx authors",
            }
        )
    code = hashlib.sha1("".join(sorted(sums)).encode()).hexdigest()
    address = repository(root)
    nowhere = not address or PLACEHOLDER in address
    own = {
        "SPDXID": "SPDXRef-dlx",
        "name": "libdlx",
        "versionInfo": now,
        "supplier": "Organization: the dlx authors",
        "downloadLocation": "NOASSERTION" if nowhere else f"git+{address}@v{now}",
        "filesAnalyzed": True,
        "packageVerificationCode": {"packageVerificationCodeValue": code},
        "licenseInfoFromFiles": ["NOASSERTION"],
        "licenseConcluded": "Apache-2.0",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "the dlx authors",
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": f"pkg:pypi/libdlx@{now}",
            }
        ],
    }
    others = [
        {
            "SPDXID": f"SPDXRef-{name.replace('+', 'x')}",
            "name": name,
            "supplier": supplier,
            "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False,
            "licenseConcluded": licence,
            "licenseDeclared": licence,
            "copyrightText": "NOASSERTION",
        }
        for name, (supplier, licence) in COMPILER.items()
    ]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-dlx")]
    relations += [("SPDXRef-dlx", "STATIC_LINK", str(other["SPDXID"])) for other in others]
    relations += [("SPDXRef-dlx", "CONTAINS", str(file["SPDXID"])) for file in files]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"libdlx-{now}",
        "documentNamespace": f"{address}/spdx/{now}-{code}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)),
            "creators": ["Tool: dlx-dev-sbom"],
        },
        "packages": [own, *others],
        "files": files,
        "relationships": [
            {"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
            for a, kind, b in relations
        ],
    }


def run(shell: Shell, words: Sequence[str]) -> int:
    if len(words) != 1 or words[0].startswith("-"):
        raise Failed(f"sbom FILE: got '{' '.join(words)}'")
    epoch = source_date(shell.settings.root)
    target = shell.settings.root / words[0]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(document(shell.settings.root, epoch), indent=1) + "\n")
    shell.print(words[0])
    return 0
