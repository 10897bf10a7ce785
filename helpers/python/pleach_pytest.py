"""Fixtures that give every pytest test an API server of its own.

    # conftest.py
    pytest_plugins = ["pleach_pytest"]

    def test_controller(pleach_world):
        client = kubernetes.client.ApiClient(kubernetes.client.Configuration(host=pleach_world.url, ...))

One process serves all worlds; a fork takes milliseconds. The binary is PLEACH_BINARY, or pleach in PATH.
"""

import itertools
import json
import os
import subprocess
import time
import urllib.error
import urllib.request

import pytest

_TOKEN = "pleachtest"
_numbers = itertools.count(1)


class World:
    """An API server: `url` and `token` are what a client needs."""

    def __init__(self, process: str, name: str) -> None:
        self._process = process
        self.name = name
        self.url = f"{process}/worlds/{name}"
        self.token = _TOKEN

    def fork(self, seed: int | None = None) -> "World":
        """Another world with everything that is in this one; with uids and names of another seed if one is given."""
        fork = World(self._process, f"world-{next(_numbers)}")
        fork._do("PUT", "", {"from": self.name} | ({} if seed is None else {"seed": seed}))
        return fork

    def reset(self, origin: "World") -> None:
        """Makes this world anew from another one. Watches end."""
        self._do("PUT", "", {"from": origin.name})

    def remove(self) -> None:
        self._do("DELETE", "")

    def advance(self, duration: str) -> None:
        """Moves the clock, which stands still otherwise: "90s", "1h"."""
        self._do("POST", "/clock", {"advance": duration})

    def add_faults(self, rules: list) -> list:
        """Adds fault rules; returns their numbers."""
        return self._do("POST", "/faults", rules)

    def clear_faults(self) -> None:
        self._do("DELETE", "/faults")

    def requests(self) -> list:
        """All requests that have been answered so far."""
        return self._do("GET", "/requests")

    def kubeconfig(self) -> str:
        return self._do("GET", "")["kubeconfig"]

    def add_user(self, name: str, groups: list = ()) -> dict:
        """Adds a user to this world: its `token` and `kubeconfig`."""
        return self._do("PUT", f"/users/{name}", {"groups": list(groups)})

    def restart(self, away: str = "0s") -> None:
        """Restarts the server: watches are cut, and requests while it is away."""
        self._do("POST", "/restart", {"away": away})

    def recording(self, name: str = "recorded/test") -> dict:
        """The requests so far as a conversation that `replay` plays again."""
        return self._do("GET", f"/recording?name={name}")

    def replay(self, recording: dict) -> list:
        """Plays a recording to this world; a line for each answer that differs."""
        return self._do("POST", "/replay", recording)

    def transcript(self) -> str:
        """The requests so far, a line each."""
        return "\n".join(
            f"{r['number']:>4} {r['code']:>3} {r['method']:<7} {r['uri']} ({r['user']}) {r.get('fault', '')}"
            for r in self.requests())

    def eventually(self, check, timeout: float = 10):
        """Waits until `check` returns something true without an exception; returns it."""
        end = time.monotonic() + timeout
        while True:
            problem = "it is not so"
            try:
                value = check()
                if value:
                    return value
            except Exception as error:  # whatever it is, it may get better
                problem = error
            assert time.monotonic() < end, f"not within {timeout} s: {problem}\nrequests:\n{self.transcript()}"
            time.sleep(0.01)

    def never(self, is_wrong, period: float) -> None:
        """Watches for a while that no request is one that must not be."""
        end = time.monotonic() + period
        while True:
            wrong = [request for request in self.requests() if is_wrong(request)]
            assert not wrong, f"{wrong[0]}\nrequests:\n{self.transcript()}"
            if time.monotonic() > end:
                return
            time.sleep(0.01)

    def assert_writes_at_most(self, resource: str, most: int) -> None:
        """At most so many writes of a resource ("deployments", "crontabs/status")."""
        count = sum(_is_write(r) and r["resource"] == resource for r in self.requests())
        assert count <= most, f"{count} writes of {resource}, at most {most}\nrequests:\n{self.transcript()}"

    def assert_writes_per_reconcile(self, is_controller, most: int) -> None:
        """At most so many writes of a controller between two writes of others, which are what it reacts to."""
        writes, trigger = 0, "the start"
        for request in filter(_is_write, self.requests()):
            if _is_housekeeping(request):
                continue
            if not is_controller(request):
                writes, trigger = 0, f"{request['method']} {request['uri']}"
                continue
            writes += 1
            assert writes <= most, f"more than {most} writes after {trigger}\nrequests:\n{self.transcript()}"

    def assert_no_write_after_event(self, is_controller, event: int) -> None:
        """No write of a controller since its watches were sent so many events, bookmarks aside."""
        requests = self.requests()
        events = sorted(last for r in requests if r["verb"] == "watch" and is_controller(r) for last in r["events"])
        assert 1 <= event <= len(events), \
            f"there is no event {event}: {len(events)} were sent\nrequests:\n{self.transcript()}"
        for r in requests:
            is_wrong = _is_write(r) and not _is_housekeeping(r) and is_controller(r) and r["number"] > events[event - 1]
            assert not is_wrong, f"after event {event}: {r['method']} {r['uri']}\nrequests:\n{self.transcript()}"

    def assert_no_hot_loop(self, is_controller, quiet: float, timeout: float = 10) -> None:
        """Waits until a controller is quiet for a while, but for watches, leases and events."""
        end, seen, since = time.monotonic() + timeout + quiet, -1, time.monotonic()
        while time.monotonic() - since < quiet:
            count = sum(is_controller(r) and r["verb"] != "watch" and not _is_housekeeping(r) for r in self.requests())
            if count != seen:
                seen, since = count, time.monotonic()
            assert time.monotonic() < end, f"{count} requests, and no end\nrequests:\n{self.transcript()}"
            time.sleep(0.01)

    def assert_converges_under(self, faults: list, scenario) -> None:
        """Runs a scenario in a fork without faults and in one for each list of rules: it must end in the same state.

        The scenario starts the controller, does what a user does, and returns what stops the controller.
        """
        calm = self.fork()
        stop = scenario(calm)
        calm.assert_no_hot_loop(lambda request: True, 0.2)
        expected = calm._do("GET", "/objects")
        stop()
        calm.remove()
        for rules in faults:
            world = self.fork()
            world.add_faults(rules)
            stop = scenario(world)
            world.eventually(lambda: world._do("GET", "/objects") == expected)
            stop()
            world.remove()

    def _do(self, method: str, path: str, body=None):
        request = urllib.request.Request(
            f"{self._process}/pleach/worlds/{self.name}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}"},
        )
        try:
            with urllib.request.urlopen(request) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {error.read().decode()}") from error


def _is_write(request: dict) -> bool:
    return request["method"] not in ("GET", "HEAD", "OPTIONS")


def _is_housekeeping(request: dict) -> bool:
    """Leader election, and reports of events."""
    return request["resource"] in ("leases", "events")


@pytest.fixture(scope="session")
def pleach_server():
    """The first world of a process that ends with the session, also if the session is killed."""
    process = subprocess.Popen(
        [os.environ.get("PLEACH_BINARY", "pleach"), "serve", "--in-memory", "--test-endpoints", "--end-with-parent",
         "--port=0", "--log-level=warn"],
        env={**os.environ, "PLEACH_TOKEN": _TOKEN}, stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        if " serves at " not in line:
            raise RuntimeError("pleach ended before it listened")
        yield World(line.split(" serves at ")[1].strip(), "default")
    finally:
        process.terminate()
        process.wait()


@pytest.fixture
def pleach_world(pleach_server, request):
    """A world for one test, forked from the first one. A test that fails shows its requests."""
    world = pleach_server.fork()
    yield world
    # The report of the test itself is made before this.
    request.node.add_report_section("teardown", "requests", world.transcript())
    world.remove()
