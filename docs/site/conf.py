"""The site: ./dev docs. It needs dlx importable: the Python reference is read from the running package."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE / "_ext"))

import dlx  # noqa: E402
import stage  # noqa: E402


def url(name: str) -> str:
    """An address in pyproject.toml, the one source of them."""
    return re.search(rf'^{name} = "([^"]*)"', (ROOT / "pyproject.toml").read_text(), re.M)[1]


project = "dlx"
author = "the dlx authors"
copyright = "the dlx authors, Apache-2.0"
release = version = dlx.__version__
repository = url("Repository")
stage.write(ROOT, ROOT / "build/docs/source", repository)

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinx_copybutton",
    # its own, in _ext
    "headers",  # include/dlx/*.h and *.hpp to reference/c and reference/cpp.md
    "stubs",  # types of the native class out of _native.pyi
    "matrix",  # matrix*.md: wide, and coloured
    "flow",  # {flow}: the picture of the first page
    "plots",  # {bench-plot}: figures out of docs/benchmarks
    "llms",  # llms.txt, llms-full.txt and a .md beside each page
]
root_doc = "index"
nitpicky = True
suppress_warnings = ["ref.python"]  # `type` is a builtin, and an attribute of two classes

llms_summary = re.search(r'^description = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.M)[1]

# -- Markdown ---------------------------------------------------------------------------------
myst_enable_extensions = ["colon_fence", "fieldlist", "deflist", "attrs_inline", "attrs_block"]
myst_heading_anchors = 4  # so that page.md#a-heading works as on GitHub
myst_links_external_new_tab = False
highlight_language = "none"
smartquotes_action = "De"  # the dashes that Sphinx writes into lists of parameters

# -- C and C++ --------------------------------------------------------------------------------
primary_domain = "py"
c_maximum_signature_line_length = 100
cpp_maximum_signature_line_length = 100
nitpick_ignore_regex = [
    (r"c:identifier", r"u?int\d+_t|size_t|uintptr_t"),
    (r"cpp:identifier", r".*"),  # std::, C's structs, template parameters
    (r"py:.*", r"(np|numpy|typing|collections|types|ctypes|torch|_typeshed)\b.*"),
    (
        r"py:class",
        r"(optional|callable|sequence|NDArray|DTypeLike|CapsuleType|Self|SupportsIndex|DeviceLike|Buffer).*",
    ),
    (r"py:class", r"AbstractContextManager|Explanation|Progress|Source"),
    (
        r"py:obj",
        r".*",
    ),  # single backticks in docstrings: linked where there is something to link to
]

# -- Python -----------------------------------------------------------------------------------
default_role = "py:obj"
add_module_names = False
autodoc_member_order = "groupwise"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_type_aliases = {"DeviceLike": "DeviceLike", "DTypeLike": "DTypeLike"}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
autosummary_generate = False
python_use_unqualified_type_names = True

# -- HTML -------------------------------------------------------------------------------------
html_theme = "furo"
html_title = "dlx"
html_short_title = "dlx"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_baseurl = url("Documentation")
templates_path = []
pygments_style = "default"
copybutton_prompt_text = r"^(\$|>>>|\.\.\.) "
copybutton_prompt_is_regexp = True

pygments_dark_style = "github-dark"
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {
        "color-brand-primary": "#0b5cad",
        "color-brand-content": "#0b5cad",
        "color-api-name": "#0b5cad",
        "color-api-pre-name": "#5b6470",
        "font-stack": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', 'Liberation Sans', Arial, sans-serif",
        "font-stack--monospace": "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', 'DejaVu Sans Mono', monospace",
    },
    "dark_css_variables": {
        "color-brand-primary": "#6cb2ff",
        "color-brand-content": "#6cb2ff",
        "color-api-name": "#6cb2ff",
        "color-api-pre-name": "#9aa4b2",
    },
}
