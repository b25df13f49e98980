"""Which waiting run goes to which worker: runs of a group to one machine, whatever else is free."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from mpu_bench.experiment.messages import Task
from mpu_bench.quantities import RunStatus


@dataclass(eq=False)
class Waiting:
    """A run that waits for a worker, with what has become of it so far.

    ``lost`` names the workers that were lost with it, ``refused`` the machines that cannot make it, and why.
    """

    task: Task
    lost: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    status: RunStatus = RunStatus.UNAVAILABLE  #: of the run if no machine can make it


@dataclass(eq=False)
class _Group:
    """Runs that belong on one machine; its name is empty for runs that may be made anywhere."""

    name: str
    machine: str | None = None
    waiting: deque[Waiting] = field(default_factory=deque)


class Placement:
    """The runs that wait, in groups; a group stays on the machine that had its first run for as long as that is there.

    Every question is answered in a time that does not grow with the number of runs.
    """

    def __init__(self) -> None:
        self._groups: dict[str, _Group] = {}
        self._free: deque[_Group] = deque()  # that have runs, and no machine
        self._of_machine: dict[str, deque[_Group]] = {}
        self._again: list[Waiting] = []  # that not every machine may have
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, waiting: Waiting, machine: str | None = None) -> None:
        """Let a run wait, in the group of its task.

        Parameters
        ----------
        waiting : Waiting
        machine : str or None
            The machine for the group if it has none yet, such as the one that has made runs of it before.
        """
        self._count += 1
        if waiting.refused:
            self._again.append(waiting)
            return
        name = waiting.task.group
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = _Group(name, machine if name else None)
        group.waiting.append(waiting)
        if len(group.waiting) == 1:
            self._queue(group).append(group)

    def take(self, machine: str) -> Waiting | None:
        """Return a run that a machine is to make now, and forget it; None where there is none for it.

        First are runs that others cannot make, then those of groups that are on the machine, then new groups.
        """
        for place, waiting in enumerate(self._again):
            group = self._groups.get(waiting.task.group)
            if machine not in waiting.refused and (group is None or group.machine in (None, machine, *waiting.refused)):
                self._count -= 1
                return self._again.pop(place)
        queue = self._of_machine.get(machine) or self._free
        if not queue:
            return None
        group = queue[0]
        waiting = group.waiting.popleft()
        self._count -= 1
        if not group.waiting:
            queue.popleft()
        elif group.name and group.machine is None:
            queue.popleft()
            self._of_machine.setdefault(machine, deque()).append(group)
        if group.name:
            group.machine = machine
        return waiting

    def forget(self, machine: str) -> None:
        """Let other machines have the groups of one that is gone."""
        self._free.extendleft(reversed(self._of_machine.pop(machine, deque())))
        for group in self._groups.values():
            if group.machine == machine:
                group.machine = None

    def impossible(self, machines: Collection[str]) -> list[Waiting]:
        """Return the runs that none of these machines can make, and forget them."""
        found = [each for each in self._again if not set(machines) - each.refused.keys()]
        self._again = [each for each in self._again if each not in found]
        self._count -= len(found)
        return found

    def machine_of(self, group: str) -> str | None:
        """Return the machine that a group is on."""
        return self._groups[group].machine if group in self._groups else None

    def _queue(self, group: _Group) -> deque[_Group]:
        return self._free if group.machine is None else self._of_machine.setdefault(group.machine, deque())


def why_impossible(waiting: Waiting, names: Mapping[str, str]) -> str:
    """Return in words why no machine can make a run; ``names`` are those of the machines."""
    return "; ".join(f"{names.get(machine, machine)}: {why}" for machine, why in waiting.refused.items())
