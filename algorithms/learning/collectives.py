"""Collectives among the replicas of a model (all-reduce and all-gather) over gloo or NCCL.

Process groups are created directly, not by `torch.distributed.init_process_group`, so a group can be rebuilt whenever
its members change, and no global state is left behind that RLlib could trip over.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist

V = TypeVar("V")


class Disconnected(ConnectionError):  # noqa: N818 (it reads as what it is)
    """Another replica left, failed, or timed out."""


class Collectives:
    """The interface, and what it does for a single replica: nothing."""

    rank = 0
    size = 1
    exchanges = 0
    """Successful collectives so far: of two replicas that lost contact, the one with more is ahead."""

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """All-reduce: overwrite `tensor` with its sum over all replicas and return it."""
        return tensor

    def average_gradients(self, parameters: Sequence[torch.nn.Parameter], weight: float) -> None:
        """Overwrite gradients with Σ w g / Σ w over all replicas; `weight` is what each replica divided its loss by."""

    def gather(self, value: V) -> list[V]:
        """All-gather: the values of all replicas in order of rank (picklable, of any shape)."""
        return [value]

    def close(self) -> None:
        """Leave the group; the others notice at their next collective."""


@dataclass(frozen=True)
class Rendezvous:
    """Where a replica joins a group, and its rank there."""

    host: str
    port: int
    name: str
    """Unique among all groups that ever use this address."""
    rank: int
    size: int
    timeout_seconds: float
    """How long a collective may wait for the slowest replica."""

    def join(self, own_address: str, on_gpu: bool) -> Collectives:
        """Connect to the others, which reach this replica at `own_address`."""
        return Collectives() if self.size == 1 else ReplicaGroup(self, own_address, on_gpu)


class ReplicaGroup(Collectives):
    """Several replicas connected by gloo; tensors on GPUs go over NCCL."""

    def __init__(self, rendezvous: Rendezvous, own_address: str, on_gpu: bool) -> None:
        self.rank, self.size = rendezvous.rank, rendezvous.size
        self.exchanges = 0
        timeout = timedelta(seconds=rendezvous.timeout_seconds)
        with _translated():
            store = dist.TCPStore(rendezvous.host, rendezvous.port, is_master=False, timeout=timeout)
            gloo: Any = dist.ProcessGroupGloo  # its options are missing from torch's stubs
            options = gloo._Options()
            # Without an address gloo resolves the host name, which fails on many clusters.
            options._devices = [gloo.create_device(hostname=own_address)]
            options._timeout = timeout
            self._gloo: Any = gloo(dist.PrefixStore(f"{rendezvous.name}/gloo", store), self.rank, self.size, options)
            self._nccl: Any = None
            if on_gpu:
                nccl = dist.ProcessGroupNCCL.Options()
                nccl._timeout = timeout
                self._nccl = dist.ProcessGroupNCCL(
                    dist.PrefixStore(f"{rendezvous.name}/nccl", store), self.rank, self.size, nccl
                )

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """All-reduce: overwrite `tensor` with its sum over all replicas and return it."""
        with self._exchange():
            group = self._nccl if tensor.is_cuda else self._gloo
            group.allreduce([tensor]).wait()
            if tensor.is_cuda:
                torch.cuda.current_stream().synchronize()  # so that an error surfaces here
        return tensor

    def average_gradients(self, parameters: Sequence[torch.nn.Parameter], weight: float) -> None:
        """One all-reduce of one flat vector: all gradients times the weight, and the weight itself."""
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        if not gradients:
            return
        flat = torch.cat([*(gradient.flatten() for gradient in gradients), gradients[0].new_ones(1)])
        flat = self.sum(flat.mul_(weight))
        flat /= flat[-1].clone()
        parts = flat[:-1].split([gradient.numel() for gradient in gradients])
        torch._foreach_copy_(gradients, [part.view_as(own) for part, own in zip(parts, gradients, strict=True)])

    def gather(self, value: V) -> list[V]:
        """Two collectives: lengths, then the pickled values, padded to the longest."""
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
        """Close the connections, so that the others' collectives fail at once instead of timing out."""
        if self._nccl is not None:
            self._nccl.abort()
        self._gloo = self._nccl = None

    @contextmanager
    def _exchange(self) -> Iterator[None]:
        """Count one collective; if it fails, close the group, which disconnects the others."""
        if self._gloo is None:
            raise Disconnected("this replica has left its group")
        try:
            with _translated():
                yield
        except BaseException:
            self.close()
            raise
        self.exchanges += 1


@contextmanager
def _translated() -> Iterator[None]:
    """Translate torch's various errors for a lost connection into `Disconnected`."""
    try:
        yield
    except (RuntimeError, ConnectionError) as error:  # dist.DistError and its subclasses are RuntimeErrors
        raise Disconnected(str(error).partition("\n")[0][:200]) from error
