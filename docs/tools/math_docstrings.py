"""An extension of griffe: the formulas of docstrings as Markdown has them."""

import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).parent))

from docstrings import with_dollars  # in the folder named above


class MathDocstrings(griffe.Extension):
    """Rewrite `.. math::` and `:math:` in every docstring."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of a module, class, function or attribute."""
        if obj.docstring:
            obj.docstring.value = with_dollars(obj.docstring.value)
