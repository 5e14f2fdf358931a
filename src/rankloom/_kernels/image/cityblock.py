"""l1 distances of sparse rows, summed in column order: bit-identical to the sum over all columns."""

from rankloom._kernels import ZERO
from rankloom._kernels.jit import kernel


@kernel
def sparse_city_block(x_ptr, x_columns, x_values, y_ptr, y_columns, y_values, out):
    """Compute l1 between each row of x and each row of y; the columns of a row must ascend."""
    for row in range(x_ptr.size - 1):
        for other in range(y_ptr.size - 1):
            i, end_i = x_ptr[row], x_ptr[row + 1]
            j, end_j = y_ptr[other], y_ptr[other + 1]
            total = ZERO
            while i < end_i and j < end_j:
                if x_columns[i] == y_columns[j]:
                    total += abs(x_values[i] - y_values[j])
                    i += 1
                    j += 1
                elif x_columns[i] < y_columns[j]:
                    total += abs(x_values[i])
                    i += 1
                else:
                    total += abs(y_values[j])
                    j += 1
            for rest in range(i, end_i):
                total += abs(x_values[rest])
            for rest in range(j, end_j):
                total += abs(y_values[rest])
            out[row, other] = total
