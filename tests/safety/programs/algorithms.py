"""A few classics: binary search, merge sort, Dijkstra, knapsack, a Caesar cipher and a parser."""

import heapq
import re
from functools import lru_cache


def merge_sort(items):
    if len(items) < 2:
        return items
    middle = len(items) // 2
    left, right = merge_sort(items[:middle]), merge_sort(items[middle:])
    merged = []
    while left and right:
        merged.append(left.pop(0) if left[0] <= right[0] else right.pop(0))
    return merged + left + right


def dijkstra(graph, start):
    distance, heap = {start: 0}, [(0, start)]
    while heap:
        cost, node = heapq.heappop(heap)
        for other, weight in graph[node].items():
            if cost + weight < distance.get(other, float("inf")):
                distance[other] = cost + weight
                heapq.heappush(heap, (distance[other], other))
    return distance


@lru_cache(maxsize=None)
def knapsack(index, room, weights, prices):
    if index == len(weights):
        return 0
    best = knapsack(index + 1, room, weights, prices)
    if weights[index] <= room:
        best = max(best, prices[index] + knapsack(index + 1, room - weights[index], weights, prices))
    return best


def caesar(text, shift):
    return "".join(chr((ord(c) - 97 + shift) % 26 + 97) if c.islower() else c for c in text)


def evaluate(text):
    tokens = re.findall(r"\d+|[-+*/()]", text)

    def factor():
        token = tokens.pop(0)
        if token == "(":
            value = total()
            tokens.pop(0)
            return value
        return int(token)

    def term():
        value = factor()
        while tokens and tokens[0] in "*/":
            value = value * factor() if tokens.pop(0) == "*" else value / factor()
        return value

    def total():
        value = term()
        while tokens and tokens[0] in "+-":
            value = value + term() if tokens.pop(0) == "+" else value - term()
        return value

    return total()


def simplify(path):
    parts = []
    for part in path.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


print(merge_sort([5, 2, 9, 1]), dijkstra({"a": {"b": 2}, "b": {"c": 3}, "c": {}}, "a"))
print(knapsack(0, 10, (5, 4, 6), (10, 40, 30)), caesar(caesar("hello", 3), -3))
print(evaluate("2*(3+4)-5"), simplify("/home//user/../etc/./x"))
