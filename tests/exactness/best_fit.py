"""Best fit, the heuristic of schedulers: largest replicas first, each where the least is left."""

from exactness.instances import Amounts, Instance


def fits(instance: Instance) -> bool:
    """Whether best fit places the gang in one of its domains."""
    return any(_fits([list(host) for host in domain], instance.roles) for domain in instance.domains)


def _fits(free: list[list[int]], roles: tuple[tuple[int, Amounts], ...]) -> bool:
    whole = [sum(host[resource] for host in free) or 1 for resource in range(len(free[0]))]

    def size(amounts: "Amounts | list[int]") -> float:
        return sum(amount / all_ for amount, all_ in zip(amounts, whole, strict=True))

    for count, needs in sorted(roles, key=lambda role: size(role[1]), reverse=True):
        for _ in range(count):
            able = [
                host for host in free if all(have >= need for have, need in zip(host, needs, strict=True))
            ]
            if not able:
                return False
            best = min(able, key=size)
            best[:] = [have - need for have, need in zip(best, needs, strict=True)]
    return True
