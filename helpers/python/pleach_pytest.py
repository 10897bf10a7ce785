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

    def fork(self) -> "World":
        """Another world with everything that is in this one."""
        fork = World(self._process, f"world-{next(_numbers)}")
        fork._do("PUT", "", {"from": self.name})
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


@pytest.fixture(scope="session")
def pleach_server():
    """The first world of a process that ends with the session."""
    process = subprocess.Popen(
        [os.environ.get("PLEACH_BINARY", "pleach"), "serve", "--in-memory", "--test-endpoints", "--port=0",
         "--log-level=warn"],
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
    lines = [f"{r['code']:>3} {r['method']:<6} {r['uri']} ({r['user']}) {r.get('fault', '')}" for r in world.requests()]
    request.node.add_report_section("call", "requests", "\n".join(lines))
    world.remove()
