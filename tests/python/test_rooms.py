"""The rooms of the package: imports go one way, also those inside functions, and nowhere in a circle."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import dlx

PACKAGE = Path(dlx.__file__).parent
# dlx.testing's judge also runs outside of the package: tests/python/testing looks at its imports.
FILES = [
    path for path in PACKAGE.rglob("*.py") if path.parent.name not in ("_pyinstaller", "_referee")
]
# Every room, and every module outside of one, imports only what stands before it.
ORDER = """errors _hints _lib _native _raw raw dtypes device _streams _access _take _give _compute xp
           _call _pickling _share _tensor _hooks __init__ testing _cli __main__""".split()


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)


MODULES = set(map(module_of, FILES))


def imported(tree: ast.AST) -> set[str]:
    """The modules of the package that a file names in import statements, but for type checkers'."""
    found: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                found.add(name if {name, f"{name}.__init__"} & MODULES else str(node.module))
        elif not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            found |= imported(node)
    names = {name if name in MODULES else f"{name}.__init__" for name in found}
    return names & MODULES


GRAPH = {module_of(path): imported(ast.parse(path.read_text(encoding="utf-8"))) for path in FILES}


def test_imports_make_no_circle():
    assert set(TopologicalSorter(GRAPH).static_order()) == MODULES  # raises CycleError


def test_rooms_import_only_what_stands_before_them():
    def room(module: str) -> int:
        return ORDER.index(module.split(".")[1])

    wrong = [
        f"{module} imports {other}"
        for module, others in GRAPH.items()
        for other in others
        if room(other) > room(module)
    ]
    assert not wrong


def test_few_modules_stand_outside_of_rooms():
    assert sum(path.parent == PACKAGE for path in FILES) <= 16
