"""The fixtures, with plain HTTP as the client."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
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


def test_users_restarts_and_recordings(pleach_server, pleach_world):
    token = pleach_world.add_user("ann", ["system:masters"])["token"]
    ann = type("Ann", (), {"url": pleach_world.url, "token": token})
    assert send(ann, "POST", MAPS, {"metadata": {"name": "a"}})[0] == 201
    pleach_world.restart()
    assert send(ann, "GET", MAPS + "/a")[0] == 200
    assert pleach_world.requests()[0]["user"] == "ann"
    recording = pleach_world.recording("helpers/python")
    again = pleach_server.fork()
    assert again.replay(recording) == []
    assert again.replay(recording) != [], "the object is there already"
    again.remove()


def test_no_write_after_an_event(pleach_world):
    count = len(send(pleach_world, "GET", MAPS)[1]["items"])
    watch = urllib.request.urlopen(urllib.request.Request(
        pleach_world.url + MAPS + "?watch=true", headers={"Authorization": f"Bearer {pleach_world.token}"}))
    with watch:
        for _ in range(count):
            watch.readline()
        for name in "abc":
            send(pleach_world, "POST", MAPS, {"metadata": {"name": name}})
            assert json.loads(watch.readline())["object"]["metadata"]["name"] == name
    pleach_world.assert_no_write_after_event(lambda request: True, count + 3)
    with pytest.raises(AssertionError, match=f"after event {count + 2}: POST {MAPS}"):
        pleach_world.assert_no_write_after_event(lambda request: True, count + 2)
    with pytest.raises(AssertionError, match=f"there is no event {count + 4}: {count + 3} were sent"):
        pleach_world.assert_no_write_after_event(lambda request: True, count + 4)


def test_a_seed_decides_uids(pleach_server):
    def uid(seed):
        world = pleach_server.fork(seed)
        made = send(world, "POST", MAPS, {"metadata": {"generateName": "a-"}})[1]["metadata"]
        world.remove()
        return made["uid"], made["name"]

    assert uid(7) == uid(7) != uid(8)


_FAILS = """
import test_pleach_pytest as helper
pytest_plugins = ["pleach_pytest"]

def test_fails(pleach_world):
    helper.send(pleach_world, "POST", helper.MAPS, {"metadata": {"name": "a"}})
    assert False, "on purpose"
"""


def _session(directory, *arguments):
    """A session of pytest on the tests in a directory."""
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments], cwd=directory,
        env={**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parent)}, stdout=subprocess.PIPE, text=True)


def test_a_failed_test_shows_its_requests(tmp_path):
    (tmp_path / "test_fails.py").write_text(_FAILS)
    session = _session(tmp_path)
    shown, _ = session.communicate()
    assert session.returncode == 1
    assert "on purpose" in shown
    assert f"   1 201 POST    {MAPS} (admin)" in shown


_WAITS = """
import time
pytest_plugins = ["pleach_pytest"]

def test_waits(pleach_world):
    print("world", pleach_world.url, flush=True)
    time.sleep(600)
"""


def test_no_server_outlives_a_killed_session(tmp_path):
    (tmp_path / "test_waits.py").write_text(_WAITS)
    session = _session(tmp_path, "-s")
    line = next(line for line in session.stdout if "world http://" in line)
    server = urllib.parse.urlsplit(line.split("world ")[1].strip())

    def is_listening():
        try:
            socket.create_connection((server.hostname, server.port), 1).close()
            return True
        except OSError:
            return False

    listened = is_listening()
    session.kill()
    session.wait()
    assert listened
    end = time.monotonic() + 20
    while is_listening():
        assert time.monotonic() < end, "the server outlives the session that started it"
        time.sleep(0.01)


def test_assertions_about_a_controller(pleach_server):
    def is_controller(request):
        return "-mirror" in request["body"]

    def scenario(world):
        assert send(world, "POST", MAPS, {"metadata": {"name": "a"}})[0] == 201
        world.eventually(lambda: send(world, "POST", MAPS, {"metadata": {"name": "a-mirror"}})[0] in (201, 409))
        world.never(lambda request: request["verb"] == "delete", 0.02)
        world.assert_no_hot_loop(is_controller, 0.05)
        world.assert_writes_per_reconcile(is_controller, 4)
        return lambda: None

    pleach_server.assert_converges_under([
        [{"match": {"verbs": ["create"]}, "skip": 1, "error": 503, "times": 2}],
        [{"match": {"verbs": ["create"]}, "skip": 1, "errorAfterCommit": 504, "times": 1}],
    ], scenario)
    world = pleach_server.fork()
    for name in "ab":
        send(world, "POST", MAPS, {"metadata": {"name": f"{name}-mirror"}})
    with pytest.raises(AssertionError, match="2 writes of configmaps, at most 1"):
        world.assert_writes_at_most("configmaps", 1)
    with pytest.raises(AssertionError, match="more than 1 writes after the start"):
        world.assert_writes_per_reconcile(is_controller, 1)
    world.remove()
