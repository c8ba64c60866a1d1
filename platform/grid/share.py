"""What one trial gets of a machine or cluster."""

from __future__ import annotations

from dataclasses import dataclass

from bonuslab.envs.errors import InvalidInput


@dataclass(frozen=True)
class Share:
    """CPUs and GPUs of a trial. One CPU means one process: the most steps for the CPUs, and the same bits again."""

    cpus: int = 1
    gpus: float = 0.0

    def __post_init__(self) -> None:
        if self.cpus < 1 or self.gpus < 0:
            raise InvalidInput(f"a trial cannot have {self.cpus} CPUs and {self.gpus:g} GPUs")
        if self.gpus and self.serial:
            raise InvalidInput("a trial with one CPU runs in one process, which does not use a GPU; give it more CPUs")

    @property
    def serial(self) -> bool:
        """Whether the trial is one process."""
        return self.cpus == 1

    def __str__(self) -> str:
        cpus = f"{self.cpus} CPU{'s' if self.cpus > 1 else ''}"
        return f"{cpus} and {self.gpus:g} GPU" if self.gpus else cpus


ONE_PROCESS = Share()
