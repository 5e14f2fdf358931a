"""Inner loops in numba: arrays in, arrays out. This file itself does not load numba."""

ROUNDING = 1e-6  # weights that differ by less than this share are equal: they are stored in float32
