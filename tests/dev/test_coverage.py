"""./dev coverage: what counts, and the table."""

from __future__ import annotations

from dev import coverage
from dev.coverage import Covered

SOURCE = """int f(int a) {
  if (a) return 1;
  abort();  // not covered: ends the process
  // not covered from here: for debuggers
  g();
  h();
  // covered again
  return 2;
}
"""


def test_a_comment_alone_is_about_the_next_line():
    source = "// not covered: why\nif (a)\n  b();\n#if X\n});\n"

    assert coverage.excluded(source) == {1, 2}
    assert coverage.without_code(source) == {4, 5}


def test_excluded_lines_say_why():
    assert coverage.excluded(SOURCE) == {3, 4, 5, 6}
    assert coverage.excluded("abort();  // not covered:\n") == set()


def test_constexpr_functions_run_at_compile_time():
    source = """constexpr int kTwo = 2;
constexpr int f(int a,
                int b) noexcept {
  if (a) { return b; }
  return a;
}
int g() {
"""
    assert coverage.excluded(source) == {2, 3, 4, 5, 6}


def test_the_table_counts_lines_and_branches_of_each_folder(tmp_path):
    (tmp_path / "src/a").mkdir(parents=True)
    (tmp_path / "src/a/f.cc").write_text(SOURCE)
    found = Covered({1: 5, 2: 5, 3: 0, 8: 0}, {(2, 7, 2, 8): [5, 0], (3, 1, 3, 2): [0, 0]})

    text, low = coverage.table(tmp_path, {"src/a/f.cc": found}, missing=True)

    assert text.splitlines()[:2] == ["src/a/f.cc:8 not run", "src/a/f.cc:2:7 never false"]
    assert "| src/a | 3 | 66.7 % | 1 | 2 | 50.0 % |" in text
    assert low == ["src/a", "all"]


def test_conditions_that_the_compiler_knows_are_no_branches():
    files = {
        "src/a.h": Covered({}, {(1, 2, 1, 3): [0, 0], (2, 2, 2, 3): [0, 0], (3, 2, 3, 3): [4, 0]})
    }

    coverage._drop_folded(files, [
        "/proc/self/cwd/src/a.h:", "    1|      4|  if (std::is_signed<T>::value)", "  |  Branch (1:2): [Folded - Ignored]",
        "  |  Branch (2:2): [True: 0, False: 0]", "  |  Branch (3:2): [Folded - Ignored]",
    ])  # fmt: skip

    assert sorted(files["src/a.h"].branches) == [(2, 2, 2, 3), (3, 2, 3, 3)]


def test_instances_of_a_template_count_together():
    files = {"src/a.h": Covered()}
    path = "/proc/self/cwd/src/a.h"

    coverage._add_branches(
        files,
        [
            {"filename": path, "branches": [[1, 2, 1, 3, 4, 0, 0, 0, 4]]},
            {"filename": path, "branches": [[1, 2, 1, 3, 0, 2, 0, 0, 4]]},
        ],
    )
    coverage._add_lines(files, [f"SF:{path}", "DA:1,0", "DA:2,7", "BRDA:1,0,0,1"])

    assert files["src/a.h"].branches == {(1, 2, 1, 3): [4, 2]}
    assert files["src/a.h"].lines == {1: 0, 2: 7}
