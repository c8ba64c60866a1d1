"""What the replicas of a model say to each other: sums and gathered values, over gloo or NCCL.

Process groups are made directly, not by `torch.distributed.init_process_group`: so a group can be made anew as often
as its members change, and nothing is left in the process that RLlib could stumble over.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist

V = TypeVar("V")


class Disconnected(ConnectionError):  # noqa: N818 (it reads as what it is)
    """Another replica has gone, failed, or did not answer in time."""


class Alone:
    """One replica: nothing has to be said."""

    rank = 0
    size = 1
    exchanges = 0
    """How many exchanges have succeeded: of two replicas that lost each other, the one with more is ahead."""

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """`tensor`, overwritten with its sum over all replicas."""
        return tensor

    def average_gradients(self, parameters: Sequence[torch.nn.Parameter], weight: float) -> None:
        """Overwrite gradients with Σ w g / Σ w over all replicas; `weight` is what each divided its loss by."""

    def gather(self, value: V) -> list[V]:
        """The values of all replicas in the order of their ranks: arrays, of any shapes, or tuples of them."""
        return [value]

    def close(self) -> None:
        """Leave; the others notice at their next exchange."""


@dataclass(frozen=True)
class Meeting:
    """Where and as what a replica joins a group."""

    host: str
    port: int
    name: str
    """Different for every group that ever meets at this address."""
    rank: int
    size: int
    timeout_seconds: float
    """How long an exchange may wait for the slowest."""

    def join(self, own_address: str, on_gpu: bool) -> Alone:
        """Meet the others, which can reach this one at `own_address`."""
        return Alone() if self.size == 1 else Group(self, own_address, on_gpu)


class Group(Alone):
    """Several replicas, connected by gloo; gradients on GPUs go over NCCL."""

    def __init__(self, meeting: Meeting, own_address: str, on_gpu: bool) -> None:
        self.rank, self.size = meeting.rank, meeting.size
        self.exchanges = 0
        timeout = timedelta(seconds=meeting.timeout_seconds)
        with _translated():
            store = dist.TCPStore(meeting.host, meeting.port, is_master=False, timeout=timeout)
            gloo: Any = dist.ProcessGroupGloo  # torch's stubs do not know its options
            options = gloo._Options()
            # Without an address gloo asks the name service for this machine's name, which many clusters do not have.
            options._devices = [gloo.create_device(hostname=own_address)]
            options._timeout = timeout
            self._gloo: Any = gloo(dist.PrefixStore(f"{meeting.name}/gloo", store), self.rank, self.size, options)
            self._nccl: Any = None
            if on_gpu:
                nccl = dist.ProcessGroupNCCL.Options()
                nccl._timeout = timeout
                self._nccl = dist.ProcessGroupNCCL(
                    dist.PrefixStore(f"{meeting.name}/nccl", store), self.rank, self.size, nccl
                )

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """`tensor`, overwritten with its sum over all replicas."""
        with self._exchange():
            group = self._nccl if tensor.is_cuda else self._gloo
            group.allreduce([tensor]).wait()
            if tensor.is_cuda:
                torch.cuda.current_stream().synchronize()  # so that an error shows here and not later
        return tensor

    def average_gradients(self, parameters: Sequence[torch.nn.Parameter], weight: float) -> None:
        """One sum over one long vector: all gradients times the weight, and the weight itself."""
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        if not gradients:
            return
        own = gradients[0].new_tensor([weight])
        flat = self.sum(torch.cat([*(gradient.flatten() * weight for gradient in gradients), own]))
        flat /= flat[-1].clone()
        start = 0
        for gradient in gradients:
            gradient.copy_(flat[start : start + gradient.numel()].view_as(gradient))
            start += gradient.numel()

    def gather(self, value: V) -> list[V]:
        """Two exchanges: lengths, then the pickled values, padded to the longest."""
        data = torch.frombuffer(bytearray(pickle.dumps(value, protocol=5)), dtype=torch.uint8)
        lengths = [torch.zeros(1, dtype=torch.int64) for _ in range(self.size)]
        with self._exchange():
            self._gloo.allgather([lengths], [torch.tensor([len(data)])]).wait()
        longest = int(max(lengths))
        padded = torch.zeros(longest, dtype=torch.uint8)
        padded[: len(data)] = data
        rows = [torch.empty(longest, dtype=torch.uint8) for _ in range(self.size)]
        with self._exchange():
            self._gloo.allgather([rows], [padded]).wait()
        return [pickle.loads(row[: int(length)].numpy().tobytes()) for row, length in zip(rows, lengths, strict=True)]

    def close(self) -> None:
        """Close the connections: the others' exchanges fail at once instead of waiting for us."""
        if self._nccl is not None:
            self._nccl.abort()
        self._gloo = self._nccl = None

    def _exchange(self) -> _Exchange:
        if self._gloo is None:
            raise Disconnected("this replica has left its group")
        return _Exchange(self)


class _translated:  # noqa: N801 (used as a function)
    """Torch's many errors of a lost connection as one of ours."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type | None, error: BaseException | None, trace: object) -> None:
        # dist.DistError and its kin are RuntimeErrors.
        if isinstance(error, RuntimeError | ConnectionError) and not isinstance(error, Disconnected):
            raise Disconnected(str(error).splitlines()[0][:200]) from error


class _Exchange(_translated):
    """Counts exchanges that succeed; one that fails closes the group, which tells the others."""

    def __init__(self, group: Group) -> None:
        self._group = group

    def __exit__(self, kind: type | None, error: BaseException | None, trace: object) -> None:
        if error is None:
            self._group.exchanges += 1
            return
        self._group.close()
        super().__exit__(kind, error, trace)
