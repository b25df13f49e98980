"""The vote of machines that each separate two classes, row by row."""


def votes(scores, pairs, classes):
    """Return the class with the most votes for each row of scores; the sum of scores decides ties, then the lowest."""
    chosen = []
    for row in scores:
        counts, sums = [0] * classes, [0.0] * classes
        for score, (first, second) in zip(row, pairs, strict=True):
            counts[second if score > 0 else first] += 1
            sums[second] += score
            sums[first] -= score
        chosen.append(max(range(classes), key=lambda c: (counts[c], sums[c], -c)))
    return chosen
