"""The few facts about a shared library's file that are needed to set the loaded library back to its first state."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

# Kinds of program headers and of entries of the dynamic section (elf.h).
_LOAD, _DYNAMIC, _RELRO = 1, 2, 0x6474E552
_EXECUTABLE, _WRITABLE = 1, 2
_STRINGS, _SYMBOLS, _PLT_SIZE, _PLT = 5, 6, 2, 23
_INIT_ARRAY, _FINI_ARRAY, _INIT_ARRAY_SIZE, _FINI_ARRAY_SIZE = 25, 26, 27, 28
_PAGE: Final = 4096


@dataclass(frozen=True)
class SharedLibrary:
    """Offsets from the address at which the library is loaded."""

    code: tuple[tuple[int, int], ...]
    """Begin and size of each part that nobody changes: where it is in the file and, once loaded, in memory."""
    executable: tuple[bool, ...]
    """For each part of the code, whether it can be executed."""
    state: tuple[int, int]
    """Begin and end of all variables, which the program may change."""
    constructors: tuple[int, int]
    """Where the addresses of the functions that run on loading are, and how many bytes they take."""
    destructors: tuple[int, int]
    imports: dict[str, int]
    """Where the addresses of functions of other libraries are, by name."""


@lru_cache(maxsize=1)
def read_library(path: Path) -> SharedLibrary:
    """Read a 64-bit little-endian ELF file."""
    data = path.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        raise RuntimeError(f"{path} is not a 64-bit little-endian ELF library: games run on Linux only")
    table, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
    headers = [struct.unpack_from("<IIQQQQQQ", data, table + 56 * index) for index in range(count)]
    segments = {kind: (offset, address, size) for kind, _, offset, address, _, _, size, _ in headers}
    writable = [header for header in headers if header[0] == _LOAD and header[1] & _WRITABLE]
    if len(writable) != 1 or _DYNAMIC not in segments:
        raise RuntimeError(f"{path} has {len(writable)} writable segments where NLE's library has one")
    _, _, _, first, _, _, size, _ = writable[0]
    begin = first
    if _RELRO in segments:  # the loader makes this part read-only, up to the last whole page
        begin = max(begin, (segments[_RELRO][1] + segments[_RELRO][2]) // _PAGE * _PAGE)
    dynamic = dict(struct.iter_unpack("<QQ", data[segments[_DYNAMIC][0] :][: segments[_DYNAMIC][2] // 16 * 16]))
    fixed = [header for header in headers if header[0] == _LOAD and not header[1] & _WRITABLE]
    if any(header[2] != header[3] or header[2] % _PAGE for header in fixed):
        raise RuntimeError(f"{path} is not laid out in memory as in the file")
    return SharedLibrary(
        code=tuple((header[2], header[5]) for header in fixed),
        executable=tuple(bool(header[1] & _EXECUTABLE) for header in fixed),
        state=(begin, first + size),
        constructors=(dynamic[_INIT_ARRAY], dynamic[_INIT_ARRAY_SIZE]),
        destructors=(dynamic[_FINI_ARRAY], dynamic[_FINI_ARRAY_SIZE]),
        imports=_imports(data, dynamic),
    )


def _imports(data: bytes, dynamic: dict[int, int]) -> dict[str, int]:
    relocations = data[dynamic[_PLT] :][: dynamic[_PLT_SIZE]]  # read-only segments: address = offset in the file
    slots = {}
    for place, info, _ in struct.iter_unpack("<QQq", relocations):
        text = dynamic[_STRINGS] + struct.unpack_from("<I", data, dynamic[_SYMBOLS] + 24 * (info >> 32))[0]
        slots[data[text : data.index(b"\0", text)].decode()] = place
    return slots
