"""Multi-class Pegasos on a budget in plain numpy: every norm computed from the Gram matrix, every merge by search."""

import numpy as np

_GOLDEN = (np.sqrt(5) - 1) / 2


class Expansion:
    """Vectors (m, d), alpha (m, c) and the order in which the vectors came."""

    def __init__(self, features, classes, kernel):
        self.vectors, self.alpha = np.zeros((0, features)), np.zeros((0, classes))
        self.ages, self.kernel = np.zeros(0, int), kernel

    def append(self, vector, alpha, age):
        self.vectors, self.alpha = np.vstack([self.vectors, vector]), np.vstack([self.alpha, alpha])
        self.ages = np.append(self.ages, age)

    def remove(self, place):
        self.vectors, self.alpha = np.delete(self.vectors, place, 0), np.delete(self.alpha, place, 0)
        self.ages = np.delete(self.ages, place)

    def remove_by_last(self, place):
        """Put the last vector in the place of one."""
        self.vectors[place], self.alpha[place], self.ages[place] = self.vectors[-1], self.alpha[-1], self.ages[-1]
        self.remove(len(self.alpha) - 1)

    def scores(self, rows):
        return self.kernel(rows, self.vectors) @ self.alpha

    def squared_norm(self):
        return float(np.sum(self.alpha * self.scores(self.vectors)))

    def smallest(self):
        sizes = (self.alpha**2).sum(axis=1) * np.diag(self.kernel(self.vectors, self.vectors))
        tied = np.flatnonzero(sizes <= sizes.min() * (1 + 1e-9))
        return tied[np.argmin(self.ages[tied])]


def train(problem, order, kernel, budget, regularization, maintain):
    """Take Algorithm 1's steps over the (row, label) pairs of ``order``.

    Gives the expansion, the steps with a loss, the evaluations asked for by scoring, and the sum of all hypotheses'
    scores on ``problem.test``.
    """
    rows, labels = problem
    classes = int(labels.max()) + 1
    w, steps, asked, total = Expansion(rows.shape[1], classes, kernel), 0, 0, 0.0
    for t, i in enumerate(order, start=1):
        x, y = rows[i : i + 1], labels[i]
        scores, rate = w.scores(x)[0], 1 / (regularization * t)
        asked += len(w.alpha)
        wrong = np.where(np.arange(classes) == y, -np.inf, scores)
        rival = int(np.argmax(wrong))
        w.alpha = w.alpha * (1 - 1 / t)
        if 1 + wrong[rival] - scores[y] > 0:
            change = np.zeros(classes)
            change[y], change[rival] = rate, -rate
            w.append(x, change, t)
            steps += 1
            if len(w.alpha) > budget:
                maintain(w, t)
            w.alpha = w.alpha / max(1.0, np.sqrt(regularization * w.squared_norm()))
        total = total + w.scores(rows)
    return w, steps, asked, total


def drop_smallest(w, _age):
    """Maintenance: drop the smallest."""
    w.remove(w.smallest())


def project_smallest(w, _age):
    """Maintenance: project the smallest on the others."""
    p = w.smallest()
    gram = w.kernel(w.vectors, w.vectors)
    others = np.arange(len(gram)) != p
    matrix = gram[np.ix_(others, others)]
    shares = np.linalg.solve(matrix + 1e-9 * np.diag(np.diag(matrix)), gram[others, p])
    w.alpha[others] += np.outer(shares, w.alpha[p])
    w.remove(p)


def merge_smallest(gamma, place=None):
    """Maintenance: merge the smallest with the best partner, by golden section, or at the h that ``place`` gives."""

    def maintain(w, age):
        p = w.smallest()
        unit = (w.alpha[p] ** 2).sum()
        found = []
        for n in range(len(w.alpha)):
            if n != p:
                g = gamma * ((w.vectors[p] - w.vectors[n]) ** 2).sum()
                q, v = w.alpha[p] @ w.alpha[n] / unit, (w.alpha[n] ** 2).sum() / unit
                if place is None:
                    h, loss = golden_section(g, q, v)
                else:
                    h = place(g, w.alpha[p], w.alpha[n])
                    loss = float(merging_loss(g, q, v, h))
                found.append((loss, w.ages[n], n, h, g))
        least = min(found)[0]
        _, n, h, g = min(partner[1:] for partner in found if partner[0] <= least * (1 + 1e-9))
        alpha = np.exp(-g * (1 - h) ** 2) * w.alpha[p] + np.exp(-g * h * h) * w.alpha[n]
        z = h * w.vectors[p] + (1 - h) * w.vectors[n]
        w.remove([p, n])
        w.append(z, alpha, age)

    return maintain


def published_place(g, alpha_p, alpha_n):
    """Find the h of (21) of bpegasos-2010: a grid, and ever finer ones around its best point."""
    both = alpha_p + alpha_n
    used = abs(both) > 1e-9 * (abs(alpha_p) + abs(alpha_n))
    of_p, of_n = (alpha_p[used] / both[used]).sum(), (alpha_n[used] / both[used]).sum()
    if not used.any():
        return 0.5
    low, high = -30.0, 31.0
    for _ in range(12):
        grid = np.linspace(low, high, 2001)
        best = int((of_p * np.exp(-g * (1 - grid) ** 2) + of_n * np.exp(-g * grid**2)).argmax())
        low, high = grid[max(best - 2, 0)], grid[min(best + 2, 2000)]
    return float(min(grid[best], 1 - grid[best]) if of_p == of_n else grid[best])


def merging_loss(g, q, v, h):
    """Compute the loss in units of ||alpha_p||^2, without cancellation, in extended precision."""
    g, q, v, h = (np.longdouble(number) for number in (g, q, v, h))
    both = 2 * g * h * (1 - h)
    product = np.exp(-g) * np.expm1(both) if both < 1 else np.exp(both - g) - np.exp(-g)
    return -np.expm1(-2 * g * (1 - h) ** 2) - v * np.expm1(-2 * g * h * h) - 2 * q * product


def golden_section(g, q, v, steps=110):
    """Find the best h <= 1/2 (as v >= 1) and its loss: a grid over all scales, golden section around its best point."""
    small = np.logspace(-14, 5, 150)
    grid = np.unique(np.concatenate([-small, small[small < 0.5], np.linspace(-2, 0.5, 120), [0.0]]))
    values = np.array([merging_loss(g, q, v, h) for h in grid])
    best = int(values.argmin())
    low, high = np.longdouble(grid[max(best - 1, 0)]), np.longdouble(grid[min(best + 1, len(grid) - 1)])
    for _ in range(steps):
        inner = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if merging_loss(g, q, v, inner[0]) < merging_loss(g, q, v, inner[1]):
            high = inner[1]
        else:
            low = inner[0]
    h = (low + high) / 2
    return float(h), float(merging_loss(g, q, v, h))
