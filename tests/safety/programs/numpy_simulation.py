"""A random walk and a Monte Carlo estimate of pi, with numpy."""

import numpy as np
import matplotlib.pyplot as plt

rng = np.random.default_rng(7)
steps = rng.choice([-1, 1], size=(1000, 50))
walks = steps.cumsum(axis=0)

points = rng.random((200_000, 2))
inside = (points**2).sum(axis=1) <= 1
print(f"pi is about {4 * inside.mean():.4f}")

matrix = np.eye(3) + rng.normal(0, 0.1, (3, 3))
values, vectors = np.linalg.eig(matrix)
print(values.round(3))
np.save("walks.npy", walks)
assert np.load("walks.npy").shape == (1000, 50)

plt.hist(walks[-1], bins=20)
plt.title("Where the walks end")
plt.savefig("walks.png")
plt.close()
