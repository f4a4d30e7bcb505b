"""The constants of approx_count_distinct, read from Spark."""

from __future__ import annotations

import struct

from viewlet.spark.session.jvm import Node, singleton

_HELPER = "util.HyperLogLogPlusPlusHelper"


def hll_constants(function: Node) -> bytes:
    """As doubles: the bits of a register's number, how many neighbours make a bias, the count up to which empty
    registers say more than full ones, then raw estimates and their biases; these are there for up to 18 bits."""
    words = function.aggBufferAttributes().length()  # each of ten registers; a rest has one more
    bits = (10 * words - 1).bit_length() - 1
    helper = singleton(function, _HELPER)
    known = helper.THRESHOLDS()
    if bits - 4 >= len(known):
        numbers = [bits, helper.K(), -1.0]
    else:
        tables = (helper.RAW_ESTIMATE_DATA()[bits - 4], helper.BIAS_DATA()[bits - 4])
        numbers = [bits, helper.K(), known[bits - 4], *(number for table in tables for number in table)]
    return struct.pack(f"<{len(numbers)}d", *numbers)
