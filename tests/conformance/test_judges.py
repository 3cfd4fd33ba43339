"""The two judges of placement cases, ours and the one kept as it came, on answers that need no solver."""

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from conformance import cases, check_case
from conformance.judge import facts, judge
from conformance.judge.outcome import outcome
from conformance.judge.rules import RULES
from conformance.judge.world import World

CASES = cases.read(Path(__file__).parents[1] / "data" / "cases")
MUTANTS = 12


def without_reasons(case):
    """A listed placement comes without the reasons of its refusals; it is judged for what it places."""
    return {**case, "expect": {key: value for key, value in case["expect"].items() if key != "why"}}


def references():
    return [
        (without_reasons(case), cases.listed(case, case["expect"]["reference"]))
        for case in CASES
        if "reference" in case["expect"]
    ]


def wrong_answers():
    return [
        (case if "rejected" in wrong else without_reasons(case), cases.listed(case, wrong))
        for case in CASES
        for wrong in case.get("wrong", ())
    ]


def both(case, answer):
    """Failures as the two judges see them."""
    return judge(case, answer).failures, tuple(check_case.check(case, answer)[0])


def test_the_cases_are_all_here_and_well_formed():
    assert len(CASES) >= 385
    for case in CASES:
        check_case.validate(case)


def test_every_reference_answer_passes_both_judges_with_all_its_wishes():
    found = references()
    assert len(found) >= 360
    for case, answer in found:
        verdict = judge(case, answer)
        assert (verdict.failures, verdict.wishes) == ((), ()), case["id"]
        assert check_case.check(case, answer) == ([], []), case["id"]


def test_every_listed_wrong_answer_is_refused_by_both_judges():
    found = wrong_answers()
    assert len(found) >= 103
    for case, answer in found:
        ours, theirs = both(case, answer)
        assert ours, case["id"]
        assert theirs, case["id"]


def mutant(case, answer, chance):
    """An answer with one to three pods moved, dropped or added; nobody is evicted."""
    changed = json.loads(json.dumps(answer))
    placements, nodes = changed["placements"], sorted(World(case).nodes)
    for _ in range(chance.randint(1, 3)):
        waiting = [name for name in sorted(World(case).waiting) if name not in placements]
        match chance.choice(["move", "drop", "add"]):
            case "move" if placements:
                placements[chance.choice(sorted(placements))] = chance.choice(nodes)
            case "drop" if placements:
                del placements[chance.choice(sorted(placements))]
            case "add" if waiting:
                gang = chance.choice(waiting).split("/")[0]
                mates = [name for name in waiting if name.split("/")[0] == gang]
                placements.update({name: chance.choice(nodes) for name in mates})
    return changed


def test_both_judges_agree_on_changed_answers_where_nobody_is_evicted():
    """Facts are judged in half of them, rules alone in the others, where more pass."""
    chance = random.Random("mutants")
    seen = Counter()
    for case, answer in references():
        if answer["evicted"]:
            continue
        for turn in range(MUTANTS):
            asked = case if turn % 2 else {**case, "expect": {}}
            changed = mutant(case, answer, chance)
            ours, theirs = both(asked, changed)
            assert bool(ours) == bool(theirs), (case["id"], changed, ours, theirs)
            seen[bool(ours)] += 1
    assert min(seen.values()) > 700, "answers of both kinds were judged"


def test_evictions_that_no_action_allows_are_refused():
    """Here our judge is the stricter one: it reads the policy, the other only the facts."""
    refused = 0
    for case, answer in references():
        world = World(case)
        for name, place in world.running.items():
            if not place.pod.preemptible and name not in answer["evicted"]:
                changed = {**answer, "evicted": [*answer["evicted"], name]}
                assert any(name in failure for failure in judge(case, changed).failures)
                refused += 1
    assert refused > 20


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__.rpartition(".")[2])
def test_every_rule_refuses_something(rule):
    """A rule that never fires judges nothing."""
    chance = random.Random(rule.__name__)
    for case, answer in [*wrong_answers(), *references()]:
        world = World(case)
        for _ in range(3):
            evicts = {
                "evicted": [
                    *answer["evicted"],
                    *chance.sample(sorted(world.running), min(1, len(world.running))),
                ]
            }
            after = outcome(world, {**mutant(case, answer, chance), **evicts})
            if any(True for _ in rule.broken(after)):
                return
    pytest.fail(f"{rule.__name__} refused nothing")


def test_every_kind_of_fact_is_stated_by_a_case_and_missed_by_an_answer():
    """The listed wrong answers, and mutants with everybody evicted."""
    chance = random.Random("facts")
    missed = Counter()
    for case, answer in [*wrong_answers(), *references()]:
        world = World(case)
        changed = {**mutant(case, answer, chance), "evicted": sorted(world.running)}
        afters = [outcome(world, item) for item in (answer, changed)]
        for holder in (case["expect"], case["expect"].get("quality", {})):
            for kind in facts.KINDS.keys() & holder.keys():
                missed[kind] += sum(1 for after in afters for _ in facts.missed(after, {kind: holder[kind]}))
    assert {kind for kind, count in missed.items() if count} == facts.KINDS.keys()


def test_an_unknown_kind_of_fact_is_an_error():
    with pytest.raises(KeyError, match="colour"):
        judge({**CASES[0], "expect": {"colour": "blue"}}, {"placements": {}})
