"""The server of the tests is held to the description of the real one, so that it cannot drift from it."""

import inspect
import json
from datetime import datetime

import kfp_server_api
import pytest
from kfpserver.progress import Plan
from kfpserver.server import LOG, ROUTES


class Recorder(kfp_server_api.ApiClient):
    """Notes what would be asked instead of asking it."""

    def call_api(self, resource_path, method, *_, response_type=None, **__):
        self.last = (method, resource_path, response_type)


def described() -> dict[tuple[str, str], str]:
    """Every route of the real server, by its generated client: method and path → model of the answer."""
    client = Recorder()
    found = {}
    for name in dir(kfp_server_api):
        if not name.endswith("ServiceApi"):
            continue
        service = getattr(kfp_server_api, name)(client)
        for about, call in inspect.getmembers(service, inspect.ismethod):
            if about.endswith("_with_http_info"):
                wanted = [
                    item
                    for item in inspect.signature(call).parameters.values()
                    if item.kind is item.POSITIONAL_OR_KEYWORD
                ]
                call(*("x" for _ in wanted))
                method, path, model = client.last
                found[method, path] = model
    return found


def test_every_route_is_one_of_the_real_server():
    real = described()
    assert len(real) > 30
    ours = {route: model for route, (_, model) in ROUTES.items() if route[1] != LOG}
    assert {route: real.get(route) for route in ours} == ours


def test_every_answer_is_one_that_the_models_know(terminal):
    """An answer goes through the model and comes out as it was: no field is unknown, none has another type."""
    terminal("upload")
    terminal.server.plan = Plan(fails="launch-tfjob")
    terminal("run", "--watch", code=5)
    terminal("list")
    terminal("list", "pipelines")
    often = terminal.data("schedule", "train", "--every", "6h")["id"]
    terminal("list", "schedules")
    terminal.server.plan = Plan(holds="admit")
    made = terminal.data("run")["id"]
    terminal("stop", made)
    terminal("logs", made)
    terminal("delete", made, "--pipeline", "gangplan-train", "--schedule", often)
    client = kfp_server_api.ApiClient()
    seen = set()
    for method, path, _, body in terminal.server.answers:
        seen.add((method, path))
        model = ROUTES[method, path][1]
        if model in {"text", "object"}:
            continue
        response = type("Response", (), {"data": json.dumps(body)})
        assert _plain(client, client.deserialize(response, model)) == _moments(body), path
    assert seen == set(ROUTES)


def _plain(client, value):
    return _moments(client.sanitize_for_serialization(value))


def _moments(value):
    """The same data with every moment written the same way."""
    if isinstance(value, dict):
        return {key: _moments(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_moments(item) for item in value]
    if isinstance(value, str) and value[:2] == "20" and value[10:11] == "T":
        return datetime.fromisoformat(value).isoformat()
    return value


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ({"train_epochs": 12.5}, None),
        ({"train_epochs": "3"}, "requires type integer"),
        ({"train_strategy": "PS"}, "does not match any of the allowed literal values"),
        ({"gang_wait_if_impossible": "true"}, "requires type bool"),
        ({"job_name": 3}, "requires type string"),
        ({"nothing": 1}, "is not required by pipeline"),
        ({}, None),
    ],
)
def test_the_server_judges_arguments_as_the_real_one(given, refused):
    import yaml
    from kfpserver.arguments import refusal

    from gangplan.pipeline import packaged

    found = refusal(next(yaml.safe_load_all(packaged("train").read_text())), given)
    assert (found is None) if refused is None else (refused in found)
