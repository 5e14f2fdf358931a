"""Where blocks of rows are worked on: the threads of this machine."""

from rankloom.engine.local import Progress, Scratch, run_blocks

__all__ = ["Progress", "Scratch", "run_blocks"]
