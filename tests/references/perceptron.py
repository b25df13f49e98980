"""The kernel Perceptron on a whole Gram matrix, in plain numpy."""

import numpy as np


def train(gram, labels, classes, order):
    """Present examples in the order given; gives (coefficients (n, c), errors, evaluations)."""
    columns = 1 if classes == 2 else classes
    coefficients, errors, evaluations = np.zeros((len(labels), columns)), 0, 0
    for i in order:
        evaluations += int(coefficients.any(axis=1).sum())
        scores = gram[i] @ coefficients
        if columns == 1:
            y = 2 * labels[i] - 1
            if y * scores[0] <= 0:
                coefficients[i, 0] += y
                errors += 1
            continue
        wrong = scores.copy()
        wrong[labels[i]] = -np.inf
        if scores[labels[i]] <= wrong.max():
            coefficients[i, labels[i]] += 1
            coefficients[i, np.argmax(wrong)] -= 1
            errors += 1
    return coefficients, errors, evaluations
