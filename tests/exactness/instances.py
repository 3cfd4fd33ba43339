"""Random instances: hosts with uneven room, and a gang of a chief, parameter servers and workers that share them."""

import random
from dataclasses import dataclass, replace

import gangplan as gp

RESOURCES = ("cpu", "memory", "nvidia.com/gpu")
Amounts = tuple[int, int, int]
"""Cores, GiB and GPUs."""


@dataclass(frozen=True, slots=True)
class Instance:
    """Hosts with their room in racks, and roles with count and needs; the last role is the one that grows.

    ``in_rack``: the whole gang must lie in one rack.
    """

    racks: tuple[tuple[Amounts, ...], ...]
    roles: tuple[tuple[int, Amounts], ...]
    in_rack: bool

    def with_workers(self, count: int) -> "Instance":
        *others, (_, needs) = self.roles
        return replace(self, roles=(*others, (count, needs)))

    @property
    def domains(self) -> tuple[tuple[Amounts, ...], ...]:
        """Sets of hosts of which one must hold the gang."""
        return self.racks if self.in_rack else (tuple(host for rack in self.racks for host in rack),)

    def snapshot(self) -> gp.Snapshot:
        hosts = [(rack, host) for rack, hosts in enumerate(self.racks) for host in hosts]
        nodes = tuple(
            gp.Node(name=f"n{number:05d}", labels={"rack": f"r{rack}"}, allocatable=_quantities(host))
            for number, (rack, host) in enumerate(hosts)
        )
        roles = tuple(
            gp.Role(name=f"role{kind}", replicas=count, requests=_quantities(needs))
            for kind, (count, needs) in enumerate(self.roles)
            if count
        )
        close = gp.Closeness(required="rack") if self.in_rack else None
        return gp.Snapshot(
            topology=("rack",), nodes=nodes, gangs=(gp.Gang(name="gang", roles=roles, topology=close),)
        )


def _quantities(amounts: Amounts) -> dict[str, str]:
    cores, gib, gpus = amounts
    return {"cpu": str(cores), "memory": f"{gib}Gi", "nvidia.com/gpu": str(gpus)}


def instance(chance: random.Random, hosts: int) -> Instance:
    """Hosts of 64 cores, 256 GiB and 8 GPUs, most of them partly in use; each role is short of something else."""
    racks = chance.choice((1, 2, 4)) if hosts >= 32 else chance.choice((1, 2))
    room = [_host(chance) for _ in range(hosts)]
    share = hosts // racks
    chief = (1, (chance.randint(2, 8), chance.randint(4, 40), 0))
    servers = (chance.randint(hosts // 4, hosts // 2), (chance.randint(5, 14), chance.randint(12, 70), 0))
    others = [_with_gpus(chance, chance.randint(2, hosts // 2)) for _ in range(chance.randint(0, 2))]
    workers = (0, (chance.randint(6, 17), chance.randint(16, 60), chance.randint(1, 3)))
    return Instance(
        racks=tuple(tuple(room[first : first + share]) for first in range(0, hosts, share)),
        roles=(chief, servers, *others, workers),
        in_rack=racks > 1 and chance.random() < 0.5,
    )


def _with_gpus(chance: random.Random, count: int) -> tuple[int, Amounts]:
    return count, (chance.randint(3, 12), chance.randint(8, 50), chance.randint(1, 3))


def _host(chance: random.Random) -> Amounts:
    if chance.random() < 0.2:
        return (64, 256, 8)
    return (chance.randint(8, 64), chance.randint(24, 256), chance.randint(0, 8))
