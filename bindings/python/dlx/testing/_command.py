"""`python -m dlx check NAME…`."""

from __future__ import annotations

import argparse
import json
import math
import sys

from dlx.testing import CheckError, Report, check
from dlx.testing._runner import Progress


def main(arguments: list[str]) -> int:
    """The command; the result is the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m dlx check",
        description="Check array libraries against DLPack and the array API. Each check runs in a "
        "process that may crash or hang. Exit status: 0, all is well; 1, a rule is broken; 2, "
        "there is nothing to check.",
    )
    parser.add_argument(
        "names",
        nargs="+",
        metavar="NAME",
        help="an installed library; module:factory, which makes an array; module:function, which "
        "imports one; file.so:symbol, a C function that returns a managed tensor",
    )
    parser.add_argument(
        "--fail-on",
        choices=["must", "should"],
        default="must",
        help="exit with 1 if a MUST (default), or a SHOULD as well, is not kept",
    )
    parser.add_argument("--json", metavar="FILE", help="write every result as JSON")
    parser.add_argument("--html", metavar="FILE", help="write a page that shows every result")
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=20,
        metavar="SECONDS",
        help="for one check (default: 20)",
    )
    try:
        return _run(parser.parse_args(arguments))
    except OSError as error:
        print(f"python -m dlx check: {error}", file=sys.stderr)
        return 2


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"must be above 0 (got {text})")
    return seconds


def _run(arguments: argparse.Namespace) -> int:
    for path in filter(None, (arguments.json, arguments.html)):
        open(path, "a", encoding="utf-8").close()  # rather now than after all checks
    reports: list[Report] = []
    missing = False
    for name in arguments.names:
        try:
            reports.append(check(name, timeout=arguments.timeout, progress=_progress(name)))
        except CheckError as error:
            _clear()
            print(f"python -m dlx check: {error}", file=sys.stderr)
            missing = True
            continue
        _clear()
        print(reports[-1])
    _write(arguments.json, json.dumps([report.to_dict() for report in reports], indent=1))
    if arguments.html:
        from dlx.testing import _html

        _write(arguments.html, _html.page(reports))
    bad = any(report.failures for report in reports)
    if arguments.fail_on == "should":
        bad = bad or any(report.warnings for report in reports)
    return 2 if missing else 1 if bad else 0


def _write(path: str | None, text: str) -> None:
    if path:
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
        print(f"written: {path}")


def _progress(name: str) -> Progress | None:
    """A line on a terminal that shows how far it is; nothing elsewhere."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, count: int, key: str) -> None:
        print(
            f"\r\033[K{name}: {done} of {count}: {key}"[:100], end="", file=sys.stderr, flush=True
        )

    return show


def _clear() -> None:
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
