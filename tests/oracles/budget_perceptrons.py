"""The Perceptrons on a budget on a whole Gram matrix, in plain numpy: lists in the order of insertion."""

import numpy as np

from oracles.perceptron import is_wrong, signs_for


class Machine:
    """One hypothesis of at most `budget` vectors; ``stored``: pairs of index and coefficient, the oldest first."""

    def __init__(self, gram, budget):
        self.gram, self.budget = gram, budget
        self.stored, self.mistakes, self.damage = [], 0, 0.0
        self.phis, self.damages, self.evaluations = [], [], 0

    def score(self, i):
        return sum(a * self.gram[i, j] for j, a in self.stored)

    def insert(self, i, sign, rule):
        self.mistakes += 1
        self.stored.append((i, float(sign)))
        if len(self.stored) > self.budget:
            rule(self)
        self.damages.append(self.damage)


def oldest(machine):
    machine.stored.pop(0)


def largest_margin(machine):
    """The oldest of those whose margin without themselves is the largest."""
    machine.evaluations += machine.budget + 1
    margins = np.array([a * (machine.score(j) - a * machine.gram[j, j]) for j, a in machine.stored])
    machine.stored.pop(int(np.argmax(margins >= margins.max() - 1e-9 * max(1.0, abs(margins.max())))))


def largest_margin_before(machine):
    """As `largest_margin`, of those stored before the new one came and what they give."""
    newest = machine.stored.pop()
    largest_margin(machine)
    machine.stored.append(newest)


def forget(machine):
    machine.evaluations += machine.budget + 1
    r, a = machine.stored[0]
    mu, sigma = np.sign(a) * machine.score(r), abs(a)
    phi = largest_phi(sigma, mu, machine.damage, machine.mistakes)
    machine.phis.append(phi)
    machine.damage += psi(sigma, phi, mu)
    machine.stored = [(j, phi * b) for j, b in machine.stored[1:]]


def psi(sigma, phi, mu):
    return (sigma * phi) ** 2 + 2 * sigma * phi * (1 - phi * mu)


def largest_phi(sigma, mu, damage, mistakes, points=20_001):
    """Search (0, 1] from above on a grid, then halve the interval that holds the edge."""
    allowed = lambda phi: psi(sigma, phi, mu) + damage <= 15 / 32 * mistakes  # noqa: E731
    grid = np.linspace(0.0, 1.0, points)
    inside = int(np.flatnonzero(allowed(grid))[-1])
    if inside == points - 1:
        return 1.0
    low, high = grid[inside], grid[inside + 1]
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if allowed(middle) else (low, middle)
    return low


def train(gram, labels, classes, order, budget, rule):
    """Present examples in the order given; gives (machines, wrong predictions, evaluations)."""
    machines = [Machine(gram, budget) for _ in range(1 if classes == 2 else classes)]
    wrong, evaluations = 0, 0
    for i in order:
        scores = np.array([machine.score(i) for machine in machines])
        evaluations += sum(len(machine.stored) for machine in machines)
        wrong += is_wrong(scores, labels[i])
        for machine, score, sign in zip(machines, scores, signs_for(labels[i], len(machines)), strict=True):
            if sign * score <= 0:
                machine.insert(i, sign, rule)
    return machines, wrong, evaluations + sum(machine.evaluations for machine in machines)


def coefficients(machines, n):
    """Add up the coefficients of every example; shape (n, c)."""
    total = np.zeros((n, len(machines)))
    for c, machine in enumerate(machines):
        for j, a in machine.stored:
            total[j, c] += a
    return total
