"""Empty rule sets for a Bazel without a network (README.md, one folder up)."""

NAMES = ["rules_cc", "rules_java", "rules_proto", "rules_python", "remote_coverage_tools"]

def _stand_in(context):
    folder = context.path(Label("//third_party/bazel/%s:WORKSPACE" % context.name)).dirname
    for entry in folder.readdir():
        context.symlink(entry, entry.basename)

stand_in = repository_rule(implementation = _stand_in, local = True)

def stand_ins():
    """For a WORKSPACE file. Repositories that it has already defined stay as they are."""
    for name in NAMES:
        if not native.existing_rule(name):
            stand_in(name = name)
