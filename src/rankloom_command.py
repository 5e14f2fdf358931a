"""The `rankloom` command: outside the package, so that Ctrl+C is handled even while the package is imported."""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # importing typing takes as long as the rest
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

INTERRUPTED = 130  # the exit code of a command that was interrupted
NOTHING = b"Stopped; nothing written.\n"


def main() -> None:
    """Run the command line; Ctrl+C ends it with exit code 130 at any time, and a line that says what is written."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # it is ignored, as under nohup
        from rankloom.cli import main as run

        return run()
    signal.signal(signal.SIGINT, _leave_early)
    from rankloom.cli import main as run  # takes half a second, and leaves nothing to clean up
    from rankloom.cli import stopped

    interruption = _Interruption()
    sys.unraisablehook = interruption.unraisable
    try:
        signal.signal(signal.SIGINT, interruption)
        run()
    except BaseException:  # an interrupted import may raise anything
        if not interruption.happened:
            raise
        sys.stderr.write(f"{stopped()}\n")
        sys.exit(INTERRUPTED)
    finally:
        signal.signal(signal.SIGINT, _leave)


class _Interruption:
    """A signal handler that raises KeyboardInterrupt, so that blocks clean up; the next signal ends the process."""

    happened = False

    def __call__(self, number: int, frame: FrameType | None) -> NoReturn:
        self.happened = True
        signal.signal(signal.SIGINT, _leave)
        raise KeyboardInterrupt

    @staticmethod
    def unraisable(error: sys.UnraisableHookArgs) -> None:
        """Exit if KeyboardInterrupt was raised in a destructor, where Python discards it."""
        if error.exc_type is KeyboardInterrupt:
            from rankloom.cli import stopped

            sys.stderr.write(f"{stopped()}\n")
            sys.stderr.flush()
            _leave()
        sys.__unraisablehook__(error)


def _leave_early(number: int, frame: FrameType | None) -> NoReturn:
    os.write(2, NOTHING)
    _leave()


def _leave(number: int = signal.SIGINT, frame: FrameType | None = None) -> NoReturn:
    os._exit(INTERRUPTED)
