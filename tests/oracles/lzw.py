"""Unix compress, as its manual says: the longest word that is known, its code, and one more word."""

from __future__ import annotations


def compress(content: bytes, most_bits: int = 16, clear_when_full: bool = False) -> bytes:
    """Pack; with ``clear_when_full`` the table is cleared as often as it is full."""
    packed = bytearray(b"\x1f\x9d" + bytes([0x80 | most_bits]))
    group: list[int] = []
    table: dict[bytes, int] = {}
    bits = 9

    def flush(whole: bool) -> None:
        number = sum(code << place * bits for place, code in enumerate(group))
        size = bits if whole else (len(group) * bits + 7) // 8
        packed.extend(number.to_bytes(bits, "little")[:size])
        group.clear()

    def clear() -> None:
        table.clear()
        table.update({bytes([letter]): letter for letter in range(256)} | {b"": 256})

    def emit(code: int) -> None:
        group.append(code)
        if len(group) == 8:
            flush(True)

    clear()
    word = b""
    for start in range(len(content)):
        letter = content[start : start + 1]
        if word + letter in table:
            word += letter
            continue
        emit(table[word])
        if len(table) >= 1 << bits and bits < most_bits:
            if group:
                flush(True)
            bits += 1
        if len(table) < 1 << most_bits:
            table[word + letter] = len(table)
        elif clear_when_full:
            emit(256)
            if group:
                flush(True)
            clear()
            bits = 9
        word = letter
    if word:
        emit(table[word])
    flush(False)
    return bytes(packed)
