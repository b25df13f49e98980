"""Damaged copies of valid inputs: of bytes, of lines of text, and of YAML and JSON by their structure."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import yaml

_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

ODD_NUMBERS: tuple[Any, ...] = (
    *(0, -1, 1, 2, 3, 7, 255, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 10**30),
    *(-(10**30), 10**400, 0.5, 1.0, -0.0, 1e-320, 1e-10, 1e10, 3.5e38, 1e300, math.nan, math.inf, -math.inf),
)
ODD_TEXTS = (
    *(
        "",
        " ",
        "x",
        "-1",
        "1e5",
        "0x10",
        "1_000",
        "~",
        "null",
        "yes",
        "²",
        "٣",
        "é",
        "\ufeff",
        "\u2028",
        "\ud800",
        "\x00",
    ),
    *("\x1b[31m", "[/red]", "../x", "/dev/null", "=1+1", "a" * 300, "<script>", "a\nb", "2001-99-99", "per-dataset"),
)
ODD_VALUES: tuple[Any, ...] = (None, True, False, [], {}, [[]], [{}], [1, 2], {"a": 1}, {"": None})
ODD_YAML = (
    *(
        "!!int ",
        "!!float ",
        "!!bool ",
        "!!timestamp ",
        "!!binary ",
        "!!set ",
        "!!null ",
        "!!python/name:os.system ",
        "! ",
    ),
    *(
        "&a ",
        "*a",
        "<<: ",
        "? ",
        "- ",
        ": ",
        "\t",
        "# ",
        "---\n",
        "...\n",
        "|\n",
        ">\n",
        "\ufeff",
        "\r",
        "\x85",
        "\u2028",
    ),
    *("[", "{", "]", "}", ",", "'", '"', "\\", "[" * 60, "{a: " * 60, "&a [*a]", "2001-99-99", "9" * 5000, "\x00", "%"),
)
_MAX_PLACES = 2_000


def bent_bytes(data: bytes, random: Random, words: Sequence[str] = ()) -> bytes:
    """Change, cut, repeat, insert or swap some bytes."""
    made = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(made) + 1)
        length = min(random.choice((1, 1, 2, 4, 16, 200)), len(made) - at)
        match random.randrange(6):
            case 0 if made:
                made[at % len(made)] = random.choice(
                    (0, 9, 10, 32, 35, 44, 48, 57, 58, 127, 128, 255, random.randrange(256))
                )
            case 1:
                del made[at : at + length]
            case 2:
                made[at:at] = made[at : at + length] * random.choice((1, 1, 3))
            case 3:
                made[at:at] = random.randbytes(random.choice((1, 2, 8)))
            case 4:
                made[at:at] = random.choice((*words, *map(str, ODD_NUMBERS))).encode("utf-8", "surrogatepass")
            case _ if made:
                made[at % len(made)] ^= 1 << random.randrange(8)
    return bytes(made)


def bent_words(data: bytes, random: Random, words: Sequence[str] = (), separators: bytes = b" :\t,;\n") -> bytes:
    """Change a text by its tokens: put another in the place of one, move, drop or double one or a line."""
    if random.random() < 0.3:
        return bent_bytes(data, random, words)
    tokens: list[bytes] = []
    start = 0
    for position, byte in enumerate(data):
        if byte in separators:
            tokens += [data[start:position], data[position : position + 1]]
            start = position + 1
    tokens.append(data[start:])
    for _ in range(random.choice((1, 1, 2, 3))):
        at = random.randrange(len(tokens))
        match random.randrange(5):
            case 0 | 1:
                odd = random.choice((*words, *map(str, ODD_NUMBERS), *ODD_TEXTS))
                tokens[at] = odd.encode("utf-8", "surrogatepass")
            case 2:
                tokens[at : at + random.choice((1, 2, 4))] = []
            case 3:
                tokens[at:at] = tokens[at : at + random.choice((1, 2, 8))]
            case _:
                tokens[at] = random.choice(tokens)
        tokens = tokens or [b""]
    return b"".join(tokens)


def places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (container, key or position) of everything below a tree."""
    found = 0
    waiting = [tree]
    while waiting and found < _MAX_PLACES:
        node = waiting.pop()
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            found += 1
            yield node, key
            if isinstance(node[key], dict | list):
                waiting.append(node[key])


def bent_tree(tree: Any, random: Random, words: Sequence[str], donors: Sequence[Any] = ()) -> Any:
    """Change a tree of mappings and lists in one to four places.

    Parameters
    ----------
    tree : mapping or list
    random : Random
    words : sequence of str
        Names that mean something.
    donors : sequence
        Other trees, of which parts may be taken.
    """
    tree = copy.deepcopy(tree)
    for _ in range(random.choice((1, 1, 1, 2, 2, 4))):
        everywhere = list(places(tree))
        if not everywhere:
            return random.choice(ODD_VALUES)
        container, key = random.choice(everywhere)
        _bend(container, key, random, words, [tree, *donors])
    return tree


def _bend(container: Any, key: Any, random: Random, words: Sequence[str], donors: Sequence[Any]) -> None:
    value = container[key]
    match random.randrange(10):
        case 0 | 1 | 2:
            container[key] = _odd(value, random, words)
        case 3 | 4:
            other = list(places(random.choice(donors)))
            if other:
                there, name = random.choice(other)
                container[key] = copy.deepcopy(there[name])
        case 5:
            del container[key]
        case 6:
            container[key] = random.choice(
                ([value], [value, copy.deepcopy(value)], {random.choice(words or ("a",)): value})
            )
        case 7 if isinstance(container, dict):
            container[random.choice(words or ("a",))] = container.pop(key)
        case 8 if isinstance(container, list):
            container.insert(key, copy.deepcopy(value))
        case _:
            added = _odd(value, random, words)
            if isinstance(container, dict):
                container[random.choice(words or ("a",))] = added
            else:
                container.insert(key, added)


def _odd(value: Any, random: Random, words: Sequence[str]) -> Any:
    if isinstance(value, int | float) and -1e300 < value < 1e300 and type(value) is not bool and random.random() < 0.5:
        return random.choice((value + 1, -value, value * 10, value / 2, float(value), str(value), [value, value + 1]))
    pool: Sequence[Any] = random.choice((ODD_NUMBERS, ODD_TEXTS, ODD_VALUES, words or ODD_TEXTS))
    return copy.deepcopy(random.choice(pool))


def mutator_of_yaml(
    words: Callable[[], Sequence[str]], donors: Callable[[], Sequence[bytes]]
) -> Callable[[bytes, Random], bytes]:
    """Make what changes YAML by its structure, and now and then by its signs."""

    def mutate(data: bytes, random: Random) -> bytes:
        try:
            tree = yaml.load(data, _Loader)
            if not isinstance(tree, dict | list) or random.random() < 0.1:
                raise ValueError
            others = [yaml.load(random.choice(donors()), _Loader)]
            text = yaml.dump(bent_tree(tree, random, words(), others), Dumper=_Dumper, sort_keys=False).encode()
        except Exception:  # what is no YAML, or is none any more, is changed as text
            return bent_words(data, random, [*ODD_YAML, *words()])
        for _ in range(random.choice((0, 0, 0, 0, 1, 2))):
            at = random.randrange(len(text) + 1)
            text = text[:at] + random.choice(ODD_YAML).encode() + text[at:]
        return text

    return mutate


def mutator_of_json(words: Callable[[], Sequence[str]]) -> Callable[[bytes, Random], bytes]:
    """Make what changes JSON by its structure, and now and then by its signs."""

    def mutate(data: bytes, random: Random) -> bytes:
        try:
            tree = json.loads(data)
            if not isinstance(tree, dict | list) or random.random() < 0.15:
                raise ValueError
            return json.dumps(bent_tree(tree, random, words())).encode()
        except (ValueError, RecursionError):
            return bent_words(
                data, random, [*words(), "NaN", "Infinity", "1e999", "[" * 2000, '{"a":' * 500, "\\ud800"]
            )

    return mutate


def mutator_of_parts(
    mutators: Sequence[Callable[[bytes, Random], bytes]], separator: bytes
) -> Callable[[bytes, Random], bytes]:
    """Make what changes one part of an input; the last mutator is for all further parts."""

    def mutate(data: bytes, random: Random) -> bytes:
        parts = data.split(separator)
        at = random.randrange(len(parts))
        parts[at] = mutators[min(at, len(mutators) - 1)](parts[at], random)
        return separator.join(parts)

    return mutate
