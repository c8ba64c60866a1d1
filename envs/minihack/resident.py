"""NLE's NetHack library, loaded once per env and restored to its initial state for every game.

NetHack keeps a game in global variables, so NLE reloads its library at each reset, which takes most of a reset's time
and leaks 1.8 KB. Here the library stays loaded: its variables (300 KB) are saved once after loading and restored before
each game, and what NetHack forgets to free is freed.
"""

from __future__ import annotations

import _ctypes
import ctypes
import mmap
import os
import shutil
import struct
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import nle
import numpy as np
from nle.nethack.nethack import DLPATH, OBSERVATION_DESC

from bonuslab.envs.minihack.elf import read_library

_NLE_VERSION: Final = "1.3.0"
_LINK_MAP: Final = 2  # RTLD_DI_LINKMAP
_WINDOWS: Final = 20
_INACTIVE_TEXT_WINDOW: Final = 5  # the bytes `type` and `active` of a window
_WINDOW_TYPE_OFFSET: Final = 4
_OBSERVATION_ORDER: Final = (
    *("glyphs", "chars", "colors", "specials", "blstats", "message", "program_state", "internal"),
    *("inv_glyphs", "inv_strs", "inv_letters", "inv_oclasses", "screen_descriptions"),
    *("tty_chars", "tty_colors", "tty_cursor", "misc"),
)

_MAP_FIXED: Final = 0x10
_PUNCH_HOLE: Final = 3  # FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
_PAGE: Final = mmap.PAGESIZE

_libc: Final = ctypes.PyDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_size_t
_libc.mmap.argtypes = (ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
_libc.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long)
_function: Final = ctypes.PYFUNCTYPE(None)
_one_pointer: Final = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_registration: Final = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class _Observation(ctypes.Structure):
    """nle_obs of NLE's nletypes.h: the key pressed, the game's status, and where to write observations."""

    _fields_ = (
        ("action", ctypes.c_int),
        ("done", ctypes.c_int),
        ("in_normal_game", ctypes.c_char),
        ("how_done", ctypes.c_int),
        *((name, ctypes.c_void_p) for name in _OBSERVATION_ORDER),
    )


class _Seeds(ctypes.Structure):
    _fields_ = (
        ("core", ctypes.c_ulong),
        ("display", ctypes.c_ulong),
        ("reseed", ctypes.c_bool),
        ("use_seeds", ctypes.c_bool),
        ("level", ctypes.c_ulong),
        ("use_level_seed", ctypes.c_bool),
    )


class _Settings(ctypes.Structure):
    """nle_settings of NLE's nletypes.h."""

    _fields_ = (
        ("directory", ctypes.c_char * 4096),
        ("score_prefix", ctypes.c_char * 4096),
        ("options", ctypes.c_char * 32768),
        ("wizkit", ctypes.c_char * 4096),
        ("spawn_monsters", ctypes.c_int),
        ("ttyrec", ctypes.c_char * 4096),
        ("seeds", _Seeds),
        ("fix_moon_phase", ctypes.c_bool),
        ("time_seed", ctypes.c_ulong),
        ("use_time_seed", ctypes.c_bool),
    )


def can_stay_resident() -> bool:
    """Whether NetHack has the memory layout this module expects: one version of NLE on 64-bit Linux."""
    return sys.platform == "linux" and sys.maxsize > 2**32 and nle.__version__ == _NLE_VERSION


class ResidentNetHack:
    """One NetHack. `start` starts a game, `step` presses a key, `status` is [key, done, -, how_done]."""

    def __init__(self, directory: Path, options: str, buffers: Mapping[str, np.ndarray]) -> None:
        """Runs in `directory` and writes observations into `buffers`, keyed by NLE's names."""
        self._buffers = dict(buffers)  # keeps them alive: NetHack writes into them
        self._observation = _observation_of(self._buffers)
        self._settings = _Settings(
            directory=str(directory).encode(), options=options.encode(), spawn_monsters=0, fix_moon_phase=True
        )
        self.status = memoryview(self._observation).cast("B")[:16].cast("i")
        self._library = _load_own_copy(directory)
        self._loaded = True
        self._game: int | None = None
        self._save_initial_state()
        self._start = _prototype(self._library.nle_start, ctypes.c_void_p, 3)
        self._end = _prototype(self._library.nle_end, None, 1)
        self._step = _prototype(self._library.nle_step, ctypes.c_void_p, 2)
        self._free_window = self._library.tty_destroy_nhwindow
        self._free_colours = self._library.tty_shutdown
        self._windows = (ctypes.c_void_p * _WINDOWS).in_dll(self._library, "wins")
        self._terminal = ctypes.c_void_p.in_dll(self._library, "ttyDisplay")
        self._observation_address = ctypes.addressof(self._observation)
        self._settings_address = ctypes.addressof(self._settings)

    def _save_initial_state(self) -> None:
        """Save the library's variables, and the functions to run before and after restoring them.

        C++ objects among the variables are destroyed and reconstructed for each game. Constructors register their
        destructors with __cxa_atexit, whose list only grows: registrations are recorded once, then discarded.
        """
        base, facts = _base_address(self._library), read_library(Path(DLPATH))
        self._constructors = _functions(base, *facts.constructors)
        for function in _functions(base, *facts.destructors):
            function()
        no_op = ctypes.cast(_libc.getpid, ctypes.c_void_p).value  # harmless whatever the arguments
        # When a game ends NetHack would ignore SIGHUP and SIGXCPU, but signals belong to the host program.
        ctypes.c_void_p.from_address(base + facts.imports["sigaction"]).value = no_op
        # The library's own `free`: a preloaded allocator (Ray may bring one) serves the library but not ctypes.
        self._free = _one_pointer(ctypes.c_size_t.from_address(base + facts.imports["free"]).value)
        slot = ctypes.c_void_p.from_address(base + facts.imports["__cxa_atexit"])
        registered: list[tuple[int, int | None]] = []

        @_registration
        def record(destructor: int, instance: int | None, library: int) -> int:
            registered.append((destructor, instance))
            return 0

        slot.value = ctypes.cast(record, ctypes.c_void_p).value
        for function in self._constructors:
            function()
        slot.value = no_op
        self._destructors = [(_one_pointer(address), instance) for address, instance in reversed(registered)]
        begin, end = facts.state
        self._state_address = base + begin
        self._initial_state = ctypes.string_at(self._state_address, end - begin)

    def start(self, core_seed: int, display_seed: int) -> None:
        """Start a game; the level in the directory and the seeds determine everything that follows."""
        if self._game is not None:
            self._end_game()
            ctypes.memmove(self._state_address, self._initial_state, len(self._initial_state))
            for construct in self._constructors:
                construct()
        seeds = self._settings.seeds
        seeds.core, seeds.display, seeds.use_seeds = core_seed, display_seed, True
        # The phase of the moon comes from this seed, not from the clock; like NLE, core seed + 1.
        self._settings.time_seed, self._settings.use_time_seed = (core_seed + 1) % 2**64, True
        self._game = self._start(self._observation_address, None, self._settings_address)
        if self.status[1]:
            raise RuntimeError("NetHack ended right after starting")

    def step(self, key: int) -> None:
        """Press a key."""
        if self._game is None or self.status[1]:
            raise RuntimeError("a key was pressed with no game running")
        self.status[0] = key
        self._step(self._game, self._observation_address)

    def _end_game(self) -> None:
        """End the game and free all its memory."""
        for number in range(_WINDOWS):
            window = self._windows[number]
            if window:
                # Otherwise the window might redraw the screen or wait for a key first.
                ctypes.c_uint16.from_address(window + _WINDOW_TYPE_OFFSET).value = _INACTIVE_TEXT_WINDOW
                self._free_window(number)
        self._free_colours()
        terminal = self._terminal.value
        self._end(self._game)
        self._game = None
        if terminal:
            self._free(terminal)
        self._destroy_objects()

    def _destroy_objects(self) -> None:
        for destroy, instance in self._destructors:
            destroy(instance)

    def close(self) -> None:
        """Unload the library; idempotent."""
        if not self._loaded:
            return
        self._loaded = False
        if self._game is not None:
            self._end_game()
        else:
            self._destroy_objects()
        del self._windows, self._terminal
        _ctypes.dlclose(self._library._handle)


def _observation_of(buffers: Mapping[str, np.ndarray]) -> _Observation:
    observation = _Observation()
    for name, array in buffers.items():
        expected = OBSERVATION_DESC[name]
        if array.shape != expected["shape"] or array.dtype != expected["dtype"] or not array.flags.carray:
            raise ValueError(f"{name} must be a writable C-contiguous array {expected}, not {array.dtype}{array.shape}")
        setattr(observation, name, array.ctypes.data)
    return observation


def _load_own_copy(directory: Path) -> ctypes.PyDLL:
    """Load a copy of the library that shares no variables with those of other games.

    The copy is an in-memory file, freed with its last mapping; containers forbid executing from /dev/shm. The loader
    identifies libraries by file name, hence a symlink with a unique one.
    """
    copy = os.memfd_create("bonuslab-nethack")
    link = directory / "libnethack.so"
    try:
        shutil.copyfile(DLPATH, f"/proc/self/fd/{copy}")  # within the kernel
        link.symlink_to(f"/proc/self/fd/{copy}")
        # Resolve every function now: the saved variables hold their addresses.
        library = ctypes.PyDLL(str(link), mode=os.RTLD_NOW | os.RTLD_LOCAL)
        _share_code(library, copy)
        return library
    finally:
        os.close(copy)
        link.unlink(missing_ok=True)


def _share_code(library: ctypes.PyDLL, copy: int) -> None:
    """Map the code from the original file instead of the copy, and free the copy's memory.

    With many envs, the next game then finds its code in the CPU cache, and each env takes less memory.
    """
    base, facts = _base_address(library), read_library(Path(DLPATH))
    with open(DLPATH, "rb") as original:
        for (offset, size), executable in zip(facts.code, facts.executable, strict=True):
            protection = mmap.PROT_READ | (mmap.PROT_EXEC if executable else 0)
            flags = mmap.MAP_PRIVATE | _MAP_FIXED
            if _libc.mmap(base + offset, size, protection, flags, original.fileno(), offset) != base + offset:
                raise OSError(ctypes.get_errno(), "NLE's library cannot be mapped a second time")
    _libc.fallocate(copy, _PUNCH_HOLE, 0, max(offset + size for offset, size in facts.code) // _PAGE * _PAGE)


def _base_address(library: ctypes.PyDLL) -> int:
    link_map = ctypes.c_void_p()
    if _libc.dlinfo(ctypes.c_void_p(library._handle), _LINK_MAP, ctypes.byref(link_map)):
        raise RuntimeError("the loader does not report where NLE's library is loaded")
    return int(ctypes.c_size_t.from_address(link_map.value or 0).value)


def _functions(base: int, offset: int, size: int) -> list[Callable[[], None]]:
    addresses = struct.unpack(f"<{size // 8}Q", ctypes.string_at(base + offset, size))
    return [_function(address) for address in addresses]


def _prototype(function: Callable[..., int], result: type | None, num_pointers: int) -> Callable[..., int]:
    function.restype = result  # type: ignore[attr-defined]
    function.argtypes = [ctypes.c_void_p] * num_pointers  # type: ignore[attr-defined]
    return function
