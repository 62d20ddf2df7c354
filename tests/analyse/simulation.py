"""Repeated draws where the truth is known: how often does an interval hold it, how often does a test cry wolf?"""

import numpy as np

N_DRAWS = 2000


def share_of_draws(holds, seed=1, n_draws=N_DRAWS):
    """Share of the draws for which ``holds(rng)`` is true; the generator is seeded, so that the share repeats."""
    rng = np.random.default_rng(seed)
    return sum(bool(holds(rng)) for _ in range(n_draws)) / n_draws
