"""The pages matrix*.md: wide, and a colour for each sign. The files stay as `python -m dlx matrix`
writes them, for a test compares them."""

import re

from docutils import nodes

STYLE = (
    "<style>.main{min-width:0;flex:1 1 0}.main>.content{flex:1;min-width:0;width:auto;max-width:84rem;padding:0 2rem}"
    "table.docutils td,table.docutils th{white-space:nowrap;padding:.1rem .35rem;font-size:.78em}"
    "table.docutils tr>:first-child:not(.shared):not(.copied):not(.refused){position:sticky;left:0;background:var(--color-background-primary)}</style>"
)
SIGNS = {"=": "shared", "c": "copied", "x": "refused"}


def setup(app):
    def wide(app, docname, source):
        if docname.startswith("matrix"):
            source[0] = (
                f"---\nhide-toc: true\n---\n\n{source[0]}\n\n```{{raw}} html\n{STYLE}\n```\n"
            )

    def colour(app, tree, docname):
        if docname.startswith("matrix"):
            for entry in tree.findall(nodes.entry):
                text = entry.astext().strip()
                if re.fullmatch(r"[=cx][\d, ]*", text):
                    entry["classes"].append(SIGNS[text[0]])
                elif re.fullmatch(r"\d+ / \d+ / \d+", text):
                    shared, copied, refused = map(int, text.split(" / "))
                    best = max((shared, "shared"), (copied, "copied"), (refused, "refused"))
                    if best[0]:
                        entry["classes"].append(best[1])

    app.connect("source-read", wide)
    app.connect("doctree-resolved", colour)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
