"""Guess a number; the computer answers by itself where nobody types."""

import random
import string


def password(length=12):
    alphabet = string.ascii_letters + string.digits
    return "".join(random.choice(alphabet) for _ in range(length))


def play(secret, guesses):
    low, high = 1, 100
    tries = 0
    while True:
        tries += 1
        guess = next(guesses, None) or (low + high) // 2
        if guess == secret:
            print(f"{secret} after {tries} tries")
            break
        if guess < secret:
            low = guess + 1
        else:
            high = guess - 1


random.seed(3)
play(random.randint(1, 100), iter([50, 25]))
print("a password for you:", password())

n = 27
while n != 1:
    n = n // 2 if n % 2 == 0 else 3 * n + 1
print("Collatz ends at", n)
