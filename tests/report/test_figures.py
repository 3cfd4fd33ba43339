"""The figures of the reports."""

import hashlib
import math
import os
import random
import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from report.situations import GPU, gang, lives

from gangplan.report import figures
from gangplan.report.charts import Chart, chart
from gangplan.report.wording import one_line
from gangplan.snapshot import Container, Gang, Node, Pod, Role, Running, Snapshot

SPEED = Chart(
    title="Images a second",
    caption="",
    x="workers",
    y="images/s",
    ticks=("1", "2", "4"),
    series={"measured": (10.0, 18.0, None), "perfect <&>": (10.0, 20.0, 40.0)},
    spread={"measured": ((9.0, 11.0), (18.0, 18.0), None)},
    kind="lines",
)
SVG = "{http://www.w3.org/2000/svg}"
HISTORY = [{"step": i, "loss": 2 / (i + 1), "accuracy": 1 - 1 / (i + 1), "seconds": i / 9} for i in range(50)]


def texts(svg):
    return ["".join(element.itertext()) for element in ET.fromstring(svg).iter(f"{SVG}text")]


def words(svg):
    return " ".join(texts(svg))


def fills(svg):
    styles = (element.get("style", "") for element in ET.fromstring(svg).iter(f"{SVG}path"))
    return [style.partition("fill: ")[2].partition(";")[0] for style in styles]


def every_figure(snapshot, plan, records):
    return {
        "map": figures.placement_map(snapshot, plan.placements, "Where"),
        "bars": figures.placement_map(
            thousand(), {"first": {"worker": ("n1", "n1", "n40", "n999")}}, "Where"
        ),
        "timeline": figures.timeline(records, 1100.0),
        "curves": figures.curves(HISTORY, test_accuracy=0.9),
        "confusion": figures.confusion([[5, 1], [0, 7]], ["cat", "dog"]),
        "roc": figures.roc([(0.1, 0.8), (0.3, 0.9)]),
        "lines": chart(SPEED),
        "bars of two": chart(replace(SPEED, kind="bars", spread={})),
    }


def thousand():
    nodes = tuple(
        Node(name=f"n{i}", labels={"zone": f"z{i // 500}", "rack": f"r{i // 40}"}, allocatable={GPU: "8"})
        for i in range(1000)
    )
    other = Running(name="other", node="n5", requests={GPU: "3"})
    return Snapshot(topology=("zone", "rack"), nodes=nodes, gangs=(gang("first"),), running=(other,))


def test_figures_are_self_contained_and_labelled(two_racks, busy, records):
    for name, svg in every_figure(two_racks, busy, records).items():
        root = ET.fromstring(svg)
        assert root.tag == f"{SVG}svg"
        assert root.get("role") == "img", name
        assert root.get("aria-label"), name
        for element in root.iter():
            assert element.tag.removeprefix(SVG) in {
                "svg",
                "g",
                "path",
                "text",
                "tspan",
                "defs",
                "use",
                "clipPath",
                "rect",
                "pattern",
            }
            for key, value in element.attrib.items():
                assert not key.startswith("on")
                assert "://" not in value
                if key.endswith("href"):
                    assert value.startswith("#")


def test_several_figures_share_no_id_and_lack_none(two_racks, busy, records):
    seen = set()
    for svg in every_figure(two_racks, busy, records).values():
        ids = [element.get("id") for element in ET.fromstring(svg).iter() if element.get("id")]
        assert len(ids) == len(set(ids))
        assert not seen & set(ids)
        seen |= set(ids)
        for id_ in ids:
            assert svg.count(f"#{id_}") >= 1
        assert svg.count("url(#") == sum(svg.count(f"url(#{id_})") for id_ in ids)


def test_same_input_gives_same_bytes_in_any_process(two_racks, busy, records):
    here = every_figure(two_racks, busy, records)
    assert here == every_figure(two_racks, busy, records)
    code = (
        "import hashlib\n"
        "from gangplan.report import figures\n"
        "from report.situations import lives\n"
        "from report.test_figures import thousand\n"
        "bars = figures.placement_map(thousand(), {'first': {'worker': ('n1', 'n1', 'n40', 'n999')}}, 'Where')\n"
        "print(hashlib.sha256((figures.timeline(lives(), 1100.0) + bars).encode()).hexdigest())"
    )
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == hashlib.sha256((here["timeline"] + here["bars"]).encode()).hexdigest()


def test_order_of_the_input_does_not_matter(two_racks, busy, records):
    rng = random.Random(7)
    before = every_figure(two_racks, busy, records)
    for _ in range(3):
        shuffled = replace(
            two_racks,
            **{
                part: tuple(rng.sample(items, len(items)))
                for part in ("nodes", "gangs", "running")
                for items in [getattr(two_racks, part)]
            },
        )
        assert figures.placement_map(shuffled, busy.placements, "Where") == before["map"]
        assert figures.timeline(rng.sample(records, len(records)), 1100.0) == before["timeline"]


def test_settings_of_the_caller_change_nothing(two_racks, busy, records):
    import matplotlib as mpl

    before = every_figure(two_racks, busy, records)
    with mpl.rc_context(
        {"svg.fonttype": "path", "font.size": 30, "axes.facecolor": "red", "text.usetex": False}
    ):
        assert every_figure(two_racks, busy, records) == before
        assert mpl.rcParams["font.size"] == 30


def test_hostile_names_are_drawn_as_text(hostile):
    name = hostile or "x"
    odd = gang(name, replicas=1)
    node = Node(name=name, labels={name: name}, allocatable={GPU: "1"})
    snapshot = Snapshot(topology=(name,), nodes=(node,), gangs=(odd,))
    record = replace(lives()[5], gang=odd)
    drawn = [
        figures.placement_map(snapshot, {name: {"worker": (name,)}}, hostile),
        figures.placement_map(
            replace(snapshot, nodes=(node, *thousand().nodes)), {name: {"worker": (name,)}}, hostile
        ),
        figures.timeline([record], 1100.0, title=hostile),
        figures.confusion([[1, 2], [3, 4]], [name, "b"], title=hostile),
        figures.curves(HISTORY, title=hostile),
        figures.roc([], title=hostile),
    ]
    for svg in drawn:
        svg.encode()
        assert not list(ET.fromstring(svg).iter(f"{SVG}script"))
        assert not list(ET.fromstring(svg).iter(f"{SVG}image"))
    if len(one_line(name)) <= 14:
        assert all(one_line(name) in words(svg) for svg in (drawn[0], drawn[2], drawn[3]))


def test_map_shows_each_replica_and_what_else_runs(two_racks, busy):
    shown = texts(figures.placement_map(two_racks, busy.placements, "After this plan"))
    assert shown[0] == "After this plan"
    assert [text for text in shown if text.startswith("worker")] == [f"worker {i}" for i in range(4)]
    assert {"zone z1, rack r0", "zone z1, rack r1", "n0", "n1", "n2", "n3", "first"} <= set(shown)
    assert any(text.startswith("1 cell: 1 GPU; ") and "grey" in text for text in shown)
    assert "1 other" in shown  # the daemon takes no GPU


def test_map_says_which_replicas_have_no_place():
    snapshot = Snapshot(nodes=(Node(name="n1", allocatable={GPU: "1"}),), gangs=(gang("a", replicas=3),))
    svg = figures.placement_map(snapshot, {"a": {"worker": ("n1", None, None)}}, "t")
    assert "Without a place: 2 replicas" in texts(svg)
    assert sorted(text for text in texts(svg) if text.startswith("worker")) == [
        "worker 0",
        "worker 1",
        "worker 2",
    ]
    assert ET.fromstring(svg).get("aria-label") == "t: 1 replica on 1 node, 2 replicas without a place"


def test_map_numbers_the_missing_replicas_of_a_gang_that_runs_in_part():
    running = tuple(Running(name=f"a{i}", node="n1", gang="a", role="worker", index=i) for i in (0, 2))
    snapshot = Snapshot(
        nodes=(Node(name="n1", allocatable={GPU: "4"}),), gangs=(gang("a", replicas=4),), running=running
    )
    shown = texts(figures.placement_map(snapshot, {"a": {"worker": ("n1", "n1")}}, "t"))
    assert [text for text in shown if text.startswith("worker")] == [f"worker {i}" for i in range(4)]


def test_two_maps_of_one_cluster_give_a_gang_one_colour():
    snapshot = Snapshot(nodes=(Node(name="n1", allocatable={GPU: "8"}),), gangs=(gang("a"), gang("b")))
    alone = figures.placement_map(snapshot, {"b": {"worker": ("n1",) * 4}}, "t")
    both = figures.placement_map(snapshot, {"a": {"worker": ("n1",) * 4}, "b": {"worker": ("n1",) * 4}}, "t")
    assert fills(both).count("#e69f00") == fills(alone).count("#e69f00") == 5  # four cells and the legend
    assert fills(alone).count("#0072b2") == 0


def test_map_draws_the_resource_that_is_scarcest():
    nodes = (Node(name="n1", allocatable={"cpu": "8", "memory": "64Gi", GPU: "8"}),)

    def key(**requests):
        role = Role(
            name="worker",
            replicas=1,
            requests={name.replace("gpu", GPU): value for name, value in requests.items()},
        )
        snapshot = Snapshot(nodes=nodes, gangs=(Gang(name="a", roles=(role,)),))
        return next(
            text
            for text in texts(figures.placement_map(snapshot, {"a": {"worker": ("n1",)}}, "t"))
            if "cell" in text
        )

    assert key(cpu="2", gpu="1").startswith("1 cell: 2 CPUs")
    assert key(cpu="2", gpu="4").startswith("1 cell: 4 GPUs")
    assert key(memory="60Gi", gpu="4").startswith("1 cell: 4Gi memory")
    assert key(gpu="4", cpu="4").startswith("1 cell: 4 GPUs")  # equal shares: the GPU is dearer


def test_map_counts_a_pod_by_the_rule_of_kubernetes():
    pod = Pod(
        containers=(Container(requests={"cpu": "1"}), Container(limits={"cpu": "1"})),
        init_containers=(Container(requests={"cpu": "1"}, sidecar=True), Container(requests={"cpu": "4"})),
    )
    snapshot = Snapshot(
        nodes=(Node(name="n1", allocatable={"cpu": "10"}),),
        gangs=(Gang(name="a", roles=(Role(name="ps", replicas=1, pod=pod),)),),
    )
    assert "1 cell: 5 CPUs" in texts(figures.placement_map(snapshot, {"a": {"ps": ("n1",)}}, "t"))


def test_map_marks_nodes_that_take_nothing_new_and_nodes_that_are_overfull():
    nodes = (
        Node(name="a", allocatable={GPU: "2"}, unschedulable=True),
        Node(name="b", allocatable={GPU: "2"}, ready=False),
        Node(name="c", allocatable={GPU: "2"}),
    )
    snapshot = Snapshot(nodes=nodes, running=(Running(name="x", node="c", requests={GPU: "3"}),))
    shown = words(figures.placement_map(snapshot, {}, "t"))
    assert "a (cordoned)" in shown
    assert "b (not ready)" in shown
    assert "beyond the thick line: more than there is" in shown


def test_map_does_not_call_a_node_without_limit_overfull():
    role = Role(name="worker", replicas=3)
    snapshot = Snapshot(nodes=(Node(name="a"),), gangs=(Gang(name="g", roles=(role,)),))
    shown = words(figures.placement_map(snapshot, {"g": {"worker": ("a",) * 3}}, "t"))
    assert "1 cell: 1 replica" in shown
    assert "more than there is" not in shown


@pytest.mark.parametrize("size", [0, 1, 48, 49])
def test_map_holds_for_any_number_of_nodes(size):
    snapshot = Snapshot(nodes=tuple(Node(name=f"n{i}", allocatable={GPU: "1"}) for i in range(size)))
    shown = words(figures.placement_map(snapshot, {}, "t"))
    assert ("summed up" in shown) == (size > 48)


def test_map_of_a_thousand_nodes_is_drawn_by_rack_and_says_so():
    svg = figures.placement_map(thousand(), {"first": {"worker": ("n1", "n1", "n40", "n999")}}, "All")
    assert "All (1,000 nodes, summed up by rack)" in texts(svg)
    assert "z0/r1 (40 nodes)" in texts(svg)
    assert len(svg) < 200_000


def test_map_of_too_many_racks_is_drawn_by_zone_or_cut_and_says_so():
    snapshot = thousand()
    nodes = tuple(
        replace(node, labels={"zone": node.labels["zone"], "rack": node.name}) for node in snapshot.nodes
    )
    assert "t (1,000 nodes, summed up by zone)" in texts(
        figures.placement_map(replace(snapshot, nodes=nodes), {}, "t")
    )
    flat = replace(snapshot, topology=("rack",), nodes=nodes)
    assert "summed up by rack, 960 domains with less not shown" in words(figures.placement_map(flat, {}, "t"))


def test_many_gangs_share_the_legend_and_say_how_many_there_are():
    gangs = tuple(gang(f"g{i}", replicas=1) for i in range(40))
    snapshot = Snapshot(nodes=(Node(name="n", allocatable={GPU: "64"}),), gangs=gangs)
    svg = figures.placement_map(snapshot, {item.name: {"worker": ("n",)} for item in gangs}, "t")
    assert "and 26 more" in texts(svg)


def test_timeline_shows_how_each_gang_ended_or_where_it_stands(records):
    shown = texts(figures.timeline(records, 1100.0))
    assert {
        f"{mark} {outcome}"
        for mark, outcome in zip("✓✗■✗", ("Succeeded", "Failed", "Canceled", "TimedOut"), strict=True)
    } <= set(shown)
    assert shown.count("Bound") == 2  # the legend and the gang that runs
    assert shown.count("Impossible") == 2
    assert {record.name for record in records} <= set(shown)


@pytest.mark.parametrize(("length", "unit"), [(5, "s"), (119, "s"), (120, "min"), (7199, "min"), (7200, "h")])
def test_timeline_chooses_its_unit(length, unit):
    waits = lives()[5]
    svg = figures.timeline([waits], waits.history[0].at + length)
    assert f"time since the first was asked for, {unit}" in texts(svg)


def test_timeline_of_many_gangs_keeps_the_latest_and_says_so():
    record = lives()[5]
    crowd = [
        replace(record, gang=gang(f"g{i:03}"), history=(replace(record.history[0], at=1000.0 + i),))
        for i in range(300)
    ]
    svg = figures.timeline(crowd, 1400.0)
    assert "(the latest 60 of 300)" in words(svg)
    assert "g299" in texts(svg)
    assert "g239" not in texts(svg)


def test_a_clock_that_went_back_breaks_no_timeline(records):
    assert "Bound" in texts(figures.timeline(records, 0.0))


def test_figures_of_nothing_say_so():
    assert "no gang was asked for" in texts(figures.timeline([], 1.0))
    assert texts(figures.curves([])).count("nothing was recorded") == 2
    assert "Confusion matrix" in texts(figures.confusion([], []))
    assert "area 0.5000" in texts(figures.roc([]))


def test_curves_survive_a_training_that_diverged():
    history = [{"step": i, "loss": (1.0, math.nan, math.inf)[i % 3]} for i in range(9)]
    shown = texts(figures.curves(history))
    assert "loss, last 1" in shown
    assert shown.count("nothing was recorded") == 1


def test_curves_of_many_points_are_thinned_but_end_where_training_did():
    history = [{"step": i, "loss": float(i), "accuracy": 0.5} for i in range(25_000)]
    svg = figures.curves(history)
    assert "loss, last 2.5e+04" in texts(svg)
    assert "(each 25th of 25,000 points)" in words(svg)
    assert len(svg) < 100_000


def test_curves_show_the_accuracy_on_unseen_data():
    assert "test 0.9" in texts(figures.curves(HISTORY, test_accuracy=0.9))
    assert "test 0.1" in texts(figures.curves(HISTORY, test_accuracy=0.1))


def test_confusion_writes_counts_and_says_how_many_are_right():
    svg = figures.confusion([[5, 1], [0, 1234]], ["cat", "dog"])
    assert {"5", "1", "1,234", "cat", "dog", "true", "predicted"} <= set(texts(svg))
    assert ET.fromstring(svg).get("aria-label") == "Confusion matrix: 1,239 of 1,240 are right"


def test_confusion_of_many_classes_is_colours_only():
    names = [f"c{i}" for i in range(100)]
    svg = figures.confusion([[int(i == j) for j in range(100)] for i in range(100)], names)
    assert "1" not in texts(svg)
    assert {"c0", "c99"} & set(texts(svg))


@pytest.mark.parametrize("matrix", [[[1]], [[1, 2], [3]], [[1, 2], [3, 4], [5, 6]]])
def test_confusion_of_another_shape_is_refused(matrix):
    with pytest.raises(ValueError, match="wanted 2 rows and columns"):
        figures.confusion(matrix, ["a", "b"])


def test_roc_counts_the_area_in_any_order():
    points = [(0.5, 1.0), (0.0, 0.5), (0.5, 0.5)]
    assert "area 0.7500" in texts(figures.roc(points))
    assert figures.roc(points) == figures.roc(points[::-1])


def test_a_chart_names_its_series_and_tells_each_value():
    for kind in ("lines", "bars"):
        told = words(chart(replace(SPEED, kind=kind, guides=())))
        for part in ("Images a second", "workers", "images/s", "measured", "perfect <&>", "18", "40"):
            assert part in told, (kind, part)


def test_what_is_only_compared_with_has_no_values():
    series = {"measured": (10.0, 18.0), "perfect": (10.0, 21.37)}
    both = replace(SPEED, ticks=("1", "2"), series=series)
    assert "21.37" in texts(chart(both))
    told = texts(chart(replace(both, guides=("perfect",))))
    assert {"18", "perfect"} <= set(told)
    assert "21.37" not in told


def test_a_chart_of_nothing_says_so_little_and_does_not_fail():
    empty = replace(SPEED, ticks=("1",), series={"measured": (None,)}, spread={})
    for kind in ("lines", "bars"):
        assert "Images a second" in words(chart(replace(empty, kind=kind)))
