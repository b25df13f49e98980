"""Projectron++ for several classes on a whole Gram matrix, in plain numpy: two classes have two f as well."""

import numpy as np

JITTER = 1e-9


def projection(gram, members, i):
    """Return the coordinates of example i projected on the span of the members, and the squared distance."""
    if not members:
        return np.zeros(0), gram[i, i]
    within = gram[np.ix_(members, members)] + JITTER * np.diag(gram.diagonal()[members])
    coordinates = np.linalg.solve(within, gram[i, members])
    return coordinates, max(gram[i, i] - coordinates @ gram[i, members], 0.0)


def train(gram, labels, classes, eta):
    """Present the examples; one that is presented again is another example.

    Gives (coefficients (n, c), members by class, errors, changes, evaluations, smallest |delta - eta| of a decision).
    """
    alpha, members = np.zeros((len(labels), classes)), [[] for _ in range(classes)]
    errors = changes = evaluations = stored = 0
    closest = np.inf
    for i in range(len(labels)):
        evaluations += stored
        y, scores = labels[i], gram[i] @ alpha
        r = max((c for c in range(classes) if c != y), key=lambda c: (scores[c], -c))
        difference = scores[y] - scores[r]
        if difference >= 1:
            continue
        (d_y, delta_y), (d_r, delta_r) = (projection(gram, members[c], i) for c in (y, r))
        tau = 1.0
        if difference <= 0:
            errors += 1
            closest = min(closest, abs(delta_y - eta), abs(delta_r - eta))
            if max(delta_y, delta_r) > eta:
                alpha[i, y], alpha[i, r] = alpha[i, y] + 1, alpha[i, r] - 1
                members[y].append(i)
                members[r].append(i)
                stored += 1
                changes += 1
                continue
        else:
            loss, delta = 1 - difference, delta_y + delta_r
            q = 2 * gram[i, i] - delta
            if loss - delta / (2 * eta) <= 0:
                continue
            tau = min(loss / q, 2 * (loss - delta / (2 * eta)) / q, 1)
        alpha[members[y], y] += tau * d_y
        alpha[members[r], r] -= tau * d_r
        changes += 1
    return alpha, members, errors, changes, evaluations, closest
