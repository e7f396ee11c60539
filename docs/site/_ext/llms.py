"""llms.txt (https://llmstxt.org), llms-full.txt, and the Markdown of each page beside its HTML."""

import re
from pathlib import Path

from docutils import nodes

# Tables of measurements, and notes for contributors, are too long for one file.
NOT_IN_FULL = ("benchmarks/", "matrix", "copy-notes", "referee", "changelog")


def setup(app):
    def finish(app, failed):
        if failed or app.builder.name != "html":
            return
        out, env = Path(app.outdir), app.env
        names = ["index"]
        for name in names:  # in the order of the site
            names += [n for n in env.toctree_includes.get(name, []) if n not in names]
        lines = [f"# {app.config.project}", "", f"> {app.config.llms_summary}", "", "## Pages", ""]
        full = []
        for name in names:
            tree, title = env.get_doctree(name), env.titles[name].astext()
            text = Path(env.doc2path(name)).read_text()
            if "{eval-rst}" in text:  # what it says comes from docstrings
                text = env.get_and_resolve_doctree(name, app.builder).astext()
            text = re.sub(r"\[\]\(/?([\w/.-]+)\.md", lambda m: _link(env, m), text)
            target = out / f"{name}.md"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
            prose = [
                p
                for p in tree.findall(nodes.paragraph)
                if "lead" not in p.parent.get("classes", [])
            ]
            first = " ".join(prose[0].astext().split()) if prose else ""
            first = re.split(r"(?<=[.]) ", first)[0].rstrip(".:")
            lines.append(f"- [{title}]({name}.md): {first}")
            if not name.startswith(NOT_IN_FULL):
                full.append(f"<!-- {name}.md -->\n\n{text}")
        (out / "llms.txt").write_text("\n".join(lines) + "\n")
        (out / "llms-full.txt").write_text("\n\n".join(full))

    app.add_config_value("llms_summary", "", "env")
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _link(env, found):
    """The page's title, as the site has it."""
    title = env.titles.get(found[1])
    return f"[{title.astext() if title else found[1]}]({found[1]}.md"
