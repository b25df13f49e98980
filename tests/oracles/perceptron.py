"""The kernel Perceptron on a whole Gram matrix, in plain numpy."""

import numpy as np


def train(gram, labels, classes, order):
    """Present examples in the order given, to one machine or to one per class.

    Gives (coefficients (n, c), errors of the machines (c,), wrong predictions, evaluations).
    """
    machines = 1 if classes == 2 else classes
    coefficients, errors, wrong, evaluations = np.zeros((len(labels), machines)), np.zeros(machines, int), 0, 0
    for i in order:
        evaluations += int((coefficients != 0).sum())
        scores = gram[i] @ coefficients
        wrong += is_wrong(scores, labels[i])
        signs = signs_for(labels[i], machines)
        mistaken = signs * scores <= 0
        coefficients[i] += mistaken * signs
        errors += mistaken
    return coefficients, errors, wrong, evaluations


def is_wrong(scores, label):
    if len(scores) == 1:
        return (2 * label - 1) * scores[0] <= 0
    return scores[label] <= np.delete(scores, label).max()


def signs_for(label, machines):
    return np.array([2 * label - 1]) if machines == 1 else np.where(np.arange(machines) == label, 1, -1)
