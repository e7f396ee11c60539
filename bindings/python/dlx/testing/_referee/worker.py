"""A process that imports one library, and forks a child for each batch of checks.

As a script it has nothing of dlx: `python worker.py JOB`, JOB as JSON. Lines of JSON come out:
`keys` or `error` first, then `pid`, `start`, `end` and `ended` for each batch that is asked for.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import resource
import sys
import warnings
from typing import Any

_NAME = "dlx_referee"


def _load_package() -> Any:
    """Load this folder as a package of another name, and return its `worker`."""
    folder = os.path.dirname(os.path.abspath(__file__))
    place = os.path.join(folder, "__init__.py")
    spec = importlib.util.spec_from_file_location(_NAME, place, submodule_search_locations=[folder])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[_NAME] = module
    spec.loader.exec_module(module)
    return importlib.import_module(f"{_NAME}.worker")


def write(out: int, **line: Any) -> None:
    os.write(out, (json.dumps(line) + "\n").encode())


def main(job: dict[str, Any]) -> int:
    """Import what is named and serve; a line with the reason if there is nothing to check."""
    from .outcomes import said
    from .targets import TargetError, contexts

    commands, out = job["commands"], job["out"]
    try:
        found = contexts(job["name"])
    except TargetError as error:
        write(out, error=str(error))
    except ModuleNotFoundError as error:
        write(out, error=f"there is no module {error.name}")
    except BaseException as error:
        write(out, error=f"it raises {said(error)}")
    else:
        if job["alone"]:
            _batch(found, [job["alone"]], out)
        serve(found, commands, out)
    return 0


def serve(contexts: dict[str, Any], commands: int, out: int) -> None:
    """Fork a child for each line of keys, and say how it ended."""
    from .catalogue import keys_of

    write(out, keys=keys_of(contexts))
    # A collection in a child would write to every object that is here, and so copy the memory of a large
    # process page by page.
    gc.freeze()
    with open(commands, encoding="utf-8") as lines:
        for line in lines:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that forking with threads may hang: it is seen
                pid = os.fork()
            if pid == 0:
                _batch(contexts, json.loads(line), out)
            write(out, pid=pid)
            _, status = os.waitpid(pid, 0)
            died = os.WIFSIGNALED(status)
            write(out, ended=-os.WTERMSIG(status) if died else os.WEXITSTATUS(status))


def _batch(contexts: dict[str, Any], keys: list[str], out: int) -> None:
    """Run these checks, and end this process; as Python ends if a check is about that."""
    from .outcomes import AT_EXIT
    from .structs import python

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        run(contexts, keys, out)
        if keys[-1] in AT_EXIT:
            gc.unfreeze()
            python.Py_Exit(0)
        os._exit(0)
    finally:
        os._exit(1)


def run(contexts: dict[str, Any], wanted: list[str], out: int) -> None:
    """Run the checks with these keys; each gives a line when it starts and one when it ends."""
    from .catalogue import BY_KEY
    from .outcomes import BAD, NOT_APPLICABLE

    closed: dict[str, str] = {}
    for key in wanted:
        check = BY_KEY[key]
        if check.role in closed:
            write(out, end=key, outcome=NOT_APPLICABLE, text=closed[check.role], noise="")
            continue
        write(out, start=key)
        before = output_size()
        outcome, text = run_one(check, contexts[check.role])
        noise = printed(before) if output_size() > before else ""
        write(out, end=key, outcome=outcome, text=text, noise=noise)
        if check.gate and outcome in (*BAD, NOT_APPLICABLE):
            closed[check.role] = text if outcome == NOT_APPLICABLE else f"see item {check.item}"


def run_one(check: Any, context: Any) -> tuple[str, str]:
    """Outcome and text of one check."""
    from .outcomes import FAIL, NOT_APPLICABLE, PASS, FindingError, NotApplicableError, said

    try:
        return PASS, check.run(context) or ""
    except FindingError as error:
        return error.outcome, str(error)
    except NotApplicableError as error:
        return NOT_APPLICABLE, str(error)
    except Exception as error:
        return FAIL, f"raised {said(error)}"


def output_size() -> int:
    """Bytes that were printed so far: standard output and error are one file."""
    from . import structs

    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    structs.system.fflush(None)
    return os.fstat(2).st_size


def printed(start: int) -> str:
    """The first line of the output from `start` on."""
    size = os.fstat(2).st_size - start
    text = os.pread(2, min(size, 300), start).decode("utf-8", "replace").strip()
    return text.partition("\n")[0][:160]


if __name__ == "__main__":
    arguments = json.loads(sys.argv[1])
    sys.path[0] = os.getcwd()
    sys.path[1:1] = [path for path in arguments["path"] if path not in sys.path]
    raise SystemExit(_load_package().main(arguments))
