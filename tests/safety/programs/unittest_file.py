"""A stack with its tests."""

import os
import tempfile
import unittest
from unittest import mock


class Stack:
    def __init__(self):
        self._items = []

    def push(self, item):
        self._items.append(item)

    def pop(self):
        if not self._items:
            raise IndexError("pop from an empty stack")
        return self._items.pop()

    def save(self, path):
        with open(path, "w") as handle:
            handle.write("\n".join(map(str, self._items)))


class StackTest(unittest.TestCase):
    def setUp(self):
        self.stack = Stack()

    def test_last_in_first_out(self):
        for number in range(3):
            self.stack.push(number)
        self.assertEqual([self.stack.pop() for _ in range(3)], [2, 1, 0])

    def test_empty(self):
        with self.assertRaises(IndexError):
            self.stack.pop()

    def test_save(self):
        self.stack.push("a")
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "stack.txt")
            self.stack.save(path)
            with open(path) as handle:
                self.assertEqual(handle.read(), "a")

    @mock.patch("builtins.print")
    def test_print(self, fake):
        print("x")
        fake.assert_called_once_with("x")


if __name__ == "__main__":
    unittest.main()
