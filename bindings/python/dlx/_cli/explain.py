"""`python -m dlx explain X TO…`: what `dlx.convert` would do with an array, and why."""

from __future__ import annotations

import dlx
from dlx.errors import InvalidArgumentError
from dlx.testing._referee import libraries, targets


def run(name: str, to: list[str]) -> int:
    """Print a line for each target; 1 if one refuses."""
    if ":" in name:
        try:
            found = targets.find(name)
        except targets.TargetError as error:
            raise InvalidArgumentError(f"explain: {error}") from None
        x = found() if callable(found) else found
    else:
        make = libraries.library(name).make
        if make is None:
            raise InvalidArgumentError(f"explain: {name} makes no arrays")
        x = make("plain")
    explanations = [dlx.explain(x, target) for target in to]
    for explanation in explanations:
        print(explanation)
    return 0 if all(explanations) else 1
