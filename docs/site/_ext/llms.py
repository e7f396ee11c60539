"""llms.txt (https://llmstxt.org), llms-full.txt, and the Markdown of each page beside its HTML."""

import re
from pathlib import Path


def setup(app):
    def finish(app, failed):
        if failed or app.builder.name not in ("html", "dirhtml"):
            return
        out, env = Path(app.outdir), app.env
        names = ["index"]
        for name in names:  # in the order of the site
            names += [n for n in env.toctree_includes.get(name, []) if n not in names]
        lines, full = (
            [f"# {app.config.project}", "", f"> {app.config.llms_summary}", "", "## Pages", ""],
            [],
        )
        for name in names:
            title = env.titles[name].astext()
            text = Path(env.doc2path(name)).read_text()
            target = out / f"{name}.md"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
            bare = re.sub(r"(?ms)^(`{3,}|:{3,}).*?^\1\s*$|\{[\w:]+\}(?=`)", "", text)
            prose = [p for p in bare.split("\n\n") if p and p[0].isalpha()]
            first = " ".join(prose[0].split()) if prose else ""
            lines.append(f"- [{title}]({name}.md): {first[:160]}")
            if not name.startswith(("benchmarks/", "matrix", "copy-notes", "reference/python")):
                full.append(f"<!-- {name}.md -->\n\n{text}")
        (out / "llms.txt").write_text("\n".join(lines) + "\n")
        (out / "llms-full.txt").write_text("\n\n".join(full))

    app.add_config_value(
        "llms_summary",
        "dlx exchanges tensors between libraries and languages without copies: a shared "
        "library with a stable C ABI on DLPack, and a Python package.",
        "env",
    )
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
