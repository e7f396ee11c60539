"""`python -m dlx info | config | demo | matrix | check | explain`."""

from __future__ import annotations

import argparse
import io
import os
import sys

from dlx import Error, __version__


def main() -> int:
    """Run one command and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m dlx", description="DLPack for Python.")
    parser.add_argument("--version", action="version", version=f"dlx {__version__}")
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("info", help="show the library, its devices and the array libraries here")
    config = commands.add_parser(
        "config",
        help="print what a C compiler needs: cc program.c $(python -m dlx config)",
        description="Print what a C compiler needs, quoted for a shell: "
        "cc program.c $(python -m dlx config). Where a path has spaces or other characters that a "
        'shell reads, let it read them: eval "cc program.c $(python -m dlx config)".',
    )
    part = config.add_mutually_exclusive_group()
    part.add_argument("--cflags", action="store_true", help="only what compiling needs")
    part.add_argument("--libs", action="store_true", help="only what linking needs")
    demo = commands.add_parser("demo", help="let a picture pass through several array libraries")
    demo.add_argument("picture", nargs="?", help="a picture of yours instead of its own")
    demo.add_argument(
        "-o", "--output", help="where to write the result (default: a temporary file)"
    )
    matrix = commands.add_parser(
        "matrix", help="measure what each array library here takes of each"
    )
    matrix.add_argument("--html", metavar="FILE", help="write a page that shows every cell")
    matrix.add_argument("--markdown", metavar="FILE", help="write the same as Markdown")
    matrix.add_argument("--libraries", metavar="NAMES", help="only these, e.g. numpy,torch,jax")
    explain = commands.add_parser("explain", help="say what dlx.convert would do, and why")
    explain.add_argument("x", metavar="X", help="an installed library, or module:factory")
    explain.add_argument("to", nargs="+", metavar="TO", help="the libraries that get the array")
    if sys.argv[1:2] == ["check"]:  # it has arguments of its own, which need dlx.testing
        from dlx.testing import _command

        return _command.main(sys.argv[2:])
    commands.add_parser("check", help="check libraries against DLPack and the array API")
    arguments = parser.parse_args()
    if arguments.command is None:
        parser.print_help()
        return 2
    try:
        _prepare_output(arguments.command)
        status = run(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # `| head` has closed the pipe; the flush at exit must not fail
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (Error, OSError, ImportError) as error:  # not a bug, so no traceback
        print(f"python -m dlx {arguments.command}: {error}", file=sys.stderr)
        return 1


def _prepare_output(command: str) -> None:
    """Make every text printable, also paths that are not in the encoding of the terminal."""
    if sys.stdout is None:  # `>&-`
        raise OSError("there is no standard output to write to")
    if isinstance(sys.stdout, io.TextIOWrapper):
        if command == "config":  # a shell needs the exact bytes
            errors = sys.getfilesystemencodeerrors()
            sys.stdout.reconfigure(encoding=sys.getfilesystemencoding(), errors=errors)
        else:
            sys.stdout.reconfigure(errors="backslashreplace")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; each imports its own module."""
    if arguments.command == "info":
        from dlx._cli import info

        print(info.report())
        return 0
    if arguments.command == "config":
        from dlx._cli import info

        print(info.compiler_arguments(cflags=not arguments.libs, libs=not arguments.cflags))
        return 0
    if arguments.command == "matrix":
        from dlx._cli import matrix

        return matrix.run(arguments.html, arguments.markdown, arguments.libraries)
    if arguments.command == "explain":
        from dlx._cli import explain

        return explain.run(arguments.x, arguments.to)
    from dlx._cli import demo

    return demo.run(arguments.picture, arguments.output)


if __name__ == "__main__":
    raise SystemExit(main())
