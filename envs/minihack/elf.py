"""Reads from a shared library's file what is needed to restore the loaded library to its initial state."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

# Types of program headers and of dynamic section entries (elf.h).
_LOAD, _DYNAMIC, _RELRO = 1, 2, 0x6474E552
_EXECUTABLE, _WRITABLE = 1, 2
_STRINGS, _SYMBOLS, _PLT_SIZE, _PLT = 5, 6, 2, 23
_INIT_ARRAY, _FINI_ARRAY, _INIT_ARRAY_SIZE, _FINI_ARRAY_SIZE = 25, 26, 27, 28
_PAGE: Final = 4096


@dataclass(frozen=True)
class SharedLibrary:
    """Offsets from the library's load address."""

    code: tuple[tuple[int, int], ...]
    """Offset and size of each read-only segment, the same in the file and in memory."""
    executable: tuple[bool, ...]
    """Whether each segment of `code` is executable."""
    state: tuple[int, int]
    """Begin and end of all writable variables."""
    constructors: tuple[int, int]
    """Offset and size in bytes of the table of functions that run on loading."""
    destructors: tuple[int, int]
    imports: dict[str, int]
    """Offset of the address of each imported function, by name."""


@lru_cache(maxsize=1)
def read_library(path: Path) -> SharedLibrary:
    """Read a 64-bit little-endian ELF file."""
    data = path.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        raise RuntimeError(f"{path} is not a 64-bit little-endian ELF library; games run on Linux only")
    table, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
    headers = [struct.unpack_from("<IIQQQQQQ", data, table + 56 * index) for index in range(count)]
    segments = {kind: (offset, address, size) for kind, _, offset, address, _, _, size, _ in headers}
    writable = [header for header in headers if header[0] == _LOAD and header[1] & _WRITABLE]
    if len(writable) != 1 or _DYNAMIC not in segments:
        raise RuntimeError(f"{path} has {len(writable)} writable segments; expected one, as in NLE's library")
    _, _, _, first, _, _, size, _ = writable[0]
    begin = first
    if _RELRO in segments:  # made read-only by the loader, up to the last whole page
        begin = max(begin, (segments[_RELRO][1] + segments[_RELRO][2]) // _PAGE * _PAGE)
    dynamic = dict(struct.iter_unpack("<QQ", data[segments[_DYNAMIC][0] :][: segments[_DYNAMIC][2] // 16 * 16]))
    fixed = [header for header in headers if header[0] == _LOAD and not header[1] & _WRITABLE]
    if any(header[2] != header[3] or header[2] % _PAGE for header in fixed):
        raise RuntimeError(f"{path} has different layouts in memory and in the file")
    return SharedLibrary(
        code=tuple((header[2], header[5]) for header in fixed),
        executable=tuple(bool(header[1] & _EXECUTABLE) for header in fixed),
        state=(begin, first + size),
        constructors=(dynamic[_INIT_ARRAY], dynamic[_INIT_ARRAY_SIZE]),
        destructors=(dynamic[_FINI_ARRAY], dynamic[_FINI_ARRAY_SIZE]),
        imports=_imports(data, dynamic),
    )


def _imports(data: bytes, dynamic: dict[int, int]) -> dict[str, int]:
    relocations = data[dynamic[_PLT] :][: dynamic[_PLT_SIZE]]  # in read-only segments, address = file offset
    slots = {}
    for place, info, _ in struct.iter_unpack("<QQq", relocations):
        text = dynamic[_STRINGS] + struct.unpack_from("<I", data, dynamic[_SYMBOLS] + 24 * (info >> 32))[0]
        slots[data[text : data.index(b"\0", text)].decode()] = place
    return slots
