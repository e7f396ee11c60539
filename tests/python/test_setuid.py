"""A setuid program that uses libdlx: its caller's DLX_*_PATH must not choose the code that it runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dlx._lib import library

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="AT_SECURE is Linux's")

NOBODY = 65534
DRIVER = """
#include <stdio.h>
__attribute__((constructor)) static void start(void) { puts("driver loaded"); }
"""
PROGRAM = """
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

int main(int count, char **words) {
  void *library = dlopen(words[1], RTLD_NOW);
  int32_t (*ask)(int32_t, int32_t *);
  int32_t found;
  if (library == NULL) return fprintf(stderr, "%s", dlerror()), 77;
  *(void **)&ask = dlsym(library, "dlx_device_count");
  ask(atoi(words[2]), &found);
  printf("secure: %d", getauxval(AT_SECURE) != 0);
  return count != 3;
}
"""


@pytest.fixture(scope="module")
def folder():
    """Where other users may run programs, unlike tmp_path."""
    compiler = shutil.which(os.environ.get("CC") or "cc")
    if compiler is None:
        pytest.skip("no C compiler")
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        found = Path(name)
        (found / "driver.c").write_text(DRIVER)
        (found / "program.c").write_text(PROGRAM)
        shared = ["-shared", "-fPIC", found / "driver.c", "-o", found / "driver.so"]
        subprocess.run([compiler, *shared], check=True)
        program = [found / "program.c", "-o", found / "program", "-ldl"]
        subprocess.run([compiler, *program], check=True)
        shutil.copy(found / "program", found / "setuid")
        yield found


@pytest.mark.parametrize(
    ("variable", "device"), [("DLX_CUDA_PATH", 2), ("DLX_HIP_PATH", 10), ("DLX_OPENCL_PATH", 4)]
)
def test_the_callers_driver_is_not_loaded(folder, variable, device):
    if os.geteuid() != 0:
        pytest.skip("only root can make a setuid program and run it as another user")
    if os.environ.get("LD_PRELOAD"):
        pytest.skip("a setuid program ignores LD_PRELOAD, by which the sanitizer comes in")

    def run(program, **options):
        command = [folder / program, os.path.abspath(library.path), str(device)]
        env = {**os.environ, variable: str(folder / "driver.so")}
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, timeout=60, **options
        )
        if done.returncode == 77:  # such as one that needs a sanitizer's library
            pytest.skip(f"a plain program cannot load the library: {done.stderr}")
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    assert run("program") == ["driver loaded", "secure: 0"]
    os.chmod(folder / "setuid", 0o4755)
    try:
        said = run("setuid", user=NOBODY)
    except OSError as error:
        pytest.skip(f"root cannot become another user here: {error}")
    if said[-1] == "secure: 0":
        pytest.skip("setuid programs have no effect here")
    assert said == ["secure: 1"]
