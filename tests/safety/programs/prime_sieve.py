"""Primes up to a limit by the sieve of Eratosthenes, with a check."""

import math
import sys
import time


def sieve(limit: int) -> list[int]:
    flags = bytearray([1]) * (limit + 1)
    flags[0:2] = b"\x00\x00"
    for number in range(2, math.isqrt(limit) + 1):
        if flags[number]:
            flags[number * number :: number] = bytes(len(range(number * number, limit + 1, number)))
    return [number for number, flag in enumerate(flags) if flag]


limit = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
begun = time.perf_counter()
primes = sieve(limit)
print(f"{len(primes)} primes up to {limit} in {time.perf_counter() - begun:.2f} s")
assert primes[:5] == [2, 3, 5, 7, 11]
