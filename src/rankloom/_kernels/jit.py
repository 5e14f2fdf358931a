"""How kernels are compiled: without the wrappers that nobody calls, which take a quarter of the time."""

from numba import njit

#: For what Python calls. No C wrapper: nobody takes the address of a kernel.
kernel = njit(cache=True, nogil=True, no_cfunc_wrapper=True)

#: For what only kernels call. Without a Python wrapper, a call from Python would crash; a test looks for such calls.
helper = njit(cache=True, nogil=True, no_cfunc_wrapper=True, no_cpython_wrapper=True)

#: For inner loops, which neither allocate nor count references to the arrays that they take out of named tuples.
inner = njit(cache=True, nogil=True, no_cfunc_wrapper=True, no_cpython_wrapper=True, _nrt=False)
