"""The fixtures, with plain HTTP as the client."""

import json
import urllib.error
import urllib.request

import pytest

pytest_plugins = ["pleach_pytest"]

MAPS = "/api/v1/namespaces/default/configmaps"


def send(world, method, path, body=None):
    request = urllib.request.Request(
        world.url + path, method=method, data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {world.token}", "Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


@pytest.mark.parametrize("run", range(3))
def test_every_test_has_a_world_of_its_own(pleach_world, run):
    pleach_world.advance("1h")
    pleach_world.add_faults([{"match": {"verbs": ["create"]}, "error": 503, "times": 1}])
    codes = [send(pleach_world, "POST", MAPS, {"metadata": {"name": "a"}})[0] for _ in range(3)]
    assert codes == [503, 201, 409]
    assert send(pleach_world, "GET", MAPS + "/a")[1]["metadata"]["creationTimestamp"] == "2027-01-15T09:00:00Z"
    assert [request["code"] for request in pleach_world.requests()] == [503, 201, 409, 200]


def test_a_world_is_reset(pleach_server, pleach_world):
    assert send(pleach_world, "POST", MAPS, {"metadata": {"name": "a"}})[0] == 201
    pleach_world.reset(pleach_server)
    assert send(pleach_world, "GET", MAPS + "/a")[0] == 404
    assert f"/worlds/{pleach_world.name}\n" in pleach_world.kubeconfig()
