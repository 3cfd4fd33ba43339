"""A constraint model of a gang's traffic: the least that a time allows to find, and a bound."""

from collections import defaultdict

from ortools.sat.python import cp_model

from gangplan.bench.traffic import NODES_IN_RACK, RACKS_IN_BLOCK, Instance

LEVELS = (1, NODES_IN_RACK, NODES_IN_RACK * RACKS_IN_BLOCK)
"""Nodes in a domain of each level, from fine to coarse."""


def least_traffic(instance: Instance, seconds: float, start: int | None = None) -> tuple[int, int]:
    """Traffic of the best placement found, and a bound that none is below.

    Each pair of a server and a worker costs one for each level that parts it, so what is saved is the product of
    their counts in each domain of each level.
    """
    model = cp_model.CpModel()
    (servers, server), (workers, cores, gpus) = instance.servers, instance.workers
    here = []
    for free_cores, free_gpus in instance.free:
        ps = model.new_int_var(0, min(servers, free_cores // server), "")
        worker = model.new_int_var(0, min(workers, free_cores // cores, free_gpus // gpus), "")
        model.add(server * ps + cores * worker <= free_cores)
        here.append((ps, worker))
    model.add(sum(ps for ps, _ in here) == servers)
    model.add(sum(worker for _, worker in here) == workers)
    saved = []
    for size in LEVELS:
        domains = defaultdict(list)
        for place, pair in enumerate(here):
            domains[place // size].append(pair)
        for pairs in domains.values():
            ps, worker = (model.new_int_var(0, most, "") for most in (servers, workers))
            model.add(ps == sum(pair[0] for pair in pairs))
            model.add(worker == sum(pair[1] for pair in pairs))
            product = model.new_int_var(0, servers * workers, "")
            model.add_multiplication_equality(product, [ps, worker])
            saved.append(product)
        model.add(sum(saved[-len(domains) :]) <= servers * workers)
    every = len(LEVELS) * servers * workers
    if start is not None:
        model.add(every - sum(saved) <= start)
    model.maximize(sum(saved))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    solver.parameters.max_time_in_seconds = seconds
    status = solver.solve(model)
    found = (
        every - round(solver.objective_value) if status in {cp_model.OPTIMAL, cp_model.FEASIBLE} else start
    )
    assert found is not None
    return found, every - round(solver.best_objective_bound)
