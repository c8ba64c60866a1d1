"""Which device habitat-sim renders on: an NVIDIA GPU that EGL shows, or else whatever EGL offers, such as Mesa."""

from __future__ import annotations

import ctypes
from typing import Final

from bonuslab.envs.errors import InvalidInput

AUTO: Final = "auto"
ANY_DEVICE: Final = -1
"""habitat-sim then takes EGL's first device, which need not be NVIDIA's: software rendering, for example."""
_CUDA_DEVICE: Final = 0x323A
"""EGL_CUDA_DEVICE_NV: a device's place in CUDA_VISIBLE_DEVICES."""
_MOST_DEVICES: Final = 64


def check_device(device: object) -> int | str:
    """`gpu_device` as a number or `auto`."""
    if device == AUTO:
        return AUTO
    if isinstance(device, bool) or not isinstance(device, int) or device < ANY_DEVICE:
        raise InvalidInput(
            f"gpu_device {device!r} cannot be used; allowed: auto, -1 (any device of EGL), 0, 1, ... (CUDA devices)"
        )
    return device


def choose_device(device: int | str) -> int:
    """`device`, or for `auto` the first CUDA device that EGL can render on, and -1 if there is none."""
    if device != AUTO:
        return int(device)
    try:
        found = egl_devices()
    except OSError:
        return ANY_DEVICE
    return min((cuda for cuda in found if cuda is not None), default=ANY_DEVICE)


def egl_devices() -> list[int | None]:
    """The CUDA number of each EGL device, None if it is not NVIDIA's; raises `OSError` where EGL is missing."""
    egl = ctypes.CDLL("libEGL.so.1")
    egl.eglGetProcAddress.restype = ctypes.c_void_p
    addresses = [egl.eglGetProcAddress(name) for name in (b"eglQueryDevicesEXT", b"eglQueryDeviceAttribEXT")]
    if None in addresses:
        raise OSError("libEGL.so.1 cannot list its devices")
    pointers, number = ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int)
    list_devices = ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_int, pointers, number)(addresses[0])
    query = ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_ssize_t))
    attribute = query(addresses[1])
    devices, count, value = (ctypes.c_void_p * _MOST_DEVICES)(), ctypes.c_int(0), ctypes.c_ssize_t(0)
    if not list_devices(_MOST_DEVICES, devices, ctypes.byref(count)):
        return []
    return [
        value.value if attribute(device, _CUDA_DEVICE, ctypes.byref(value)) else None
        for device in devices[: count.value]
    ]
