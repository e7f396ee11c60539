"""The program behind ./dev: one module per topic, the standard library only, Python 3.9 or newer.

settings       where the clone is, and what the environment asks for
shell          runs commands, or prints them with --dry-run
arguments      refuses mistyped arguments; paths as the caller means them
debian         the Debian packages that each kind of work needs
environments   Python interpreters, virtual environments and their packages
bazel          Bazel on a terminal and in a log
folders        THE table: a folder of the tree -> its tests
jobs, runners  jobs side by side; what one job can run
groups         THE table: ./dev test MODE -> its jobs
systems, gpu   the groups that need environments of their own
summary        adds up what the runners left
testing        ./dev test; installed: of a wheel; downloads: what it says first
bench, kit, fuzz, style, abi, wheel, demo, docs, sbom, release    the other commands
"""
