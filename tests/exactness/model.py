"""The constraint model: how many replicas of the last role fit beside all the others, proven by CP-SAT."""

from ortools.sat.python import cp_model

from exactness.instances import Amounts, Instance


def most_workers(instance: Instance) -> int | None:
    """The largest count of the last role with which the gang fits; None if the others alone do not fit."""
    found = [_most(domain, instance.roles) for domain in instance.domains]
    fitting = [count for count in found if count is not None]
    return max(fitting) if fitting else None


def _most(hosts: tuple[Amounts, ...], roles: tuple[tuple[int, Amounts], ...]) -> int | None:
    model = cp_model.CpModel()
    placed = [[model.new_int_var(0, _alone(host, needs), "") for host in hosts] for _, needs in roles]
    for (count, _), on_hosts in zip(roles[:-1], placed, strict=False):
        model.add(sum(on_hosts) == count)
    for number, host in enumerate(hosts):
        for resource, room in enumerate(host):
            model.add(
                sum(
                    needs[resource] * on_hosts[number]
                    for (_, needs), on_hosts in zip(roles, placed, strict=True)
                )
                <= room
            )
    for resource in range(len(hosts[0])):  # implied: it tightens the bound
        model.add(
            sum(needs[resource] * sum(on_hosts) for (_, needs), on_hosts in zip(roles, placed, strict=True))
            <= sum(host[resource] for host in hosts)
        )
    model.maximize(sum(placed[-1]))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    status = solver.solve(model)
    assert status in {cp_model.OPTIMAL, cp_model.INFEASIBLE}, "there is no limit of time"
    return round(solver.objective_value) if status == cp_model.OPTIMAL else None


def _alone(host: Amounts, needs: Amounts) -> int:
    return min(room // need for room, need in zip(host, needs, strict=True) if need)
