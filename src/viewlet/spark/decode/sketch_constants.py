"""The constants of approx_count_distinct, read from Spark."""

from __future__ import annotations

import struct

from viewlet.spark.session.jvm import Node, singleton

_HELPER = "util.HyperLogLogPlusPlusHelper"


def hll_constants(function: Node) -> bytes:
    """As doubles: the bits that select a register, the number of neighbours that give a bias, the count up to which
    linear counting is used, then raw estimates and their biases, which exist for up to 18 bits."""
    words = function.aggBufferAttributes().length()  # each of ten registers; a remainder has one more
    bits = (10 * words - 1).bit_length() - 1
    helper = singleton(function, _HELPER)
    known = helper.THRESHOLDS()
    if bits - 4 >= len(known):
        numbers = [bits, helper.K(), -1.0]
    else:
        tables = (helper.RAW_ESTIMATE_DATA()[bits - 4], helper.BIAS_DATA()[bits - 4])
        numbers = [bits, helper.K(), known[bits - 4], *(number for table in tables for number in table)]
    return struct.pack(f"<{len(numbers)}d", *numbers)
