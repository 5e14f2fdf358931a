"""Experiments: run the paper's protocol on a specification and return the results as data."""

from importlib.resources import files

from rankloom.experiment.protocol import SPECIFICATION, run
from rankloom.experiment.results import Results
from rankloom.experiment.spec import Experiment

#: The specification of the built-in experiment, as TOML.
EXAMPLE = files(__package__).joinpath("example.toml").read_text(encoding="utf-8")

__all__ = ["EXAMPLE", "SPECIFICATION", "Experiment", "Results", "run"]
