#!/usr/bin/env bash
# Runs controller-runtime's own suites on the debug build, and prints how many of their specs pass, and the names of those
# that do not.
#
#   scripts/controller-runtime.sh                          the packages that need a control plane: their suites start
#                                                          kube-apiserver and etcd of envtest themselves
#   scripts/controller-runtime.sh client source            some packages
#   scripts/controller-runtime.sh --existing-cluster …     on a server that runs already, a fresh one for each package
#   KUBEBUILDER_ASSETS=<directory> …                       the same on the kube-apiserver and etcd in that directory
#
# The suites are those of the Go module, which are downloaded; they take some ten minutes, most of it to compile them, so
# they are not part of scripts/test.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

existing=
if [ "${1:-}" = --existing-cluster ]; then
  existing=yes
  shift
fi
version="$(sed -n 's/^\tsigs.k8s.io\/controller-runtime \(v[^ ]*\).*/\1/p' tests/envtest/go.mod)"
target="${CARGO_TARGET_DIR:-$PWD/target}"
go="$(command -v go || echo "${PLEACH_TOOLS:-$target/tools}/venv/bin/go")"
binary="${PLEACH_BINARY:-$target/debug/pleach}"
work="$target/controller-runtime"
source="$work/$version"
results="$work/results.json"
mkdir -p "$work"

# Tests write beside their sources; the module cache is read only.
if ! [ -d "$source" ]; then
  module="$("$go" mod download -json "sigs.k8s.io/controller-runtime@$version" | sed -n 's/^\t"Dir": "\(.*\)",\{0,1\}$/\1/p')"
  rm -rf "$source.new"
  cp -R "$module" "$source.new"
  chmod -R u+w "$source.new"
  mv "$source.new" "$source"
fi
if [ -z "${PLEACH_BINARY:-}" ] && { [ -n "$existing" ] || [ -z "${KUBEBUILDER_ASSETS:-}" ]; }; then
  cargo build --quiet -p pleach
fi
if [ -z "$existing" ] && [ -z "${KUBEBUILDER_ASSETS:-}" ]; then
  "$binary" envtest install "$target/envtest" >/dev/null
  export KUBEBUILDER_ASSETS="$target/envtest"
fi
# The suites expect that nothing acts on their objects, as with envtest's programs.
export PLEACH_CONTROLLERS="${PLEACH_CONTROLLERS-}"

home="$(mktemp -d)"
server=
stop() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  [ -z "$server" ] || wait "$server" 2>/dev/null || true
  server=
}
trap 'stop; rm -rf "$home"' EXIT

start() {
  export KUBECONFIG="$home/kubeconfig" USE_EXISTING_CLUSTER=true
  rm -f "$home/out"
  "$binary" serve --in-memory --port 0 --log-level warn --controllers "$PLEACH_CONTROLLERS" --end-with-parent --kubeconfig "$KUBECONFIG" \
    >"$home/out" 2>"$work/server.log" &
  server=$!
  for _ in $(seq 300); do
    grep -sq '^export KUBECONFIG=' "$home/out" && return
    sleep 0.1
  done
  echo 'controller-runtime: the server does not start' >&2
  exit 1
}

packages=("$@")
if [ "${#packages[@]}" = 0 ]; then
  mapfile -t packages < <(cd "$source" && grep -rlE 'envtest\.Environment|controlplane\.' --include='*_test.go' pkg |
    xargs -n1 dirname | sort -u | sed 's/^pkg\///')
fi
: >"$results"
# One suite after the other: each has a control plane of its own.
for package in "${packages[@]}"; do
  [ -z "$existing" ] || start
  (cd "$source" && "$go" test -vet=off -count=1 -timeout 20m -json "./pkg/$package") >>"$results" || true
  stop
done

python3 - "$results" "$version" <<'PYTHON'
import collections, json, re, sys

packages, failed = collections.defaultdict(collections.Counter), set()
for line in open(sys.argv[1]):
    try:
        event = json.loads(line)
    except ValueError:
        print(line, end="")
        continue
    name = event.get("Package", "").removeprefix("sigs.k8s.io/controller-runtime/pkg/")
    output = re.sub(r"\x1b\[[0-9;]*m", "", event.get("Output", ""))
    # What Ginkgo prints at the end of a suite, and the names of specs that fail.
    if found := re.search(r"(\d+) Passed \| (\d+) Failed \| (\d+) Pending \| (\d+) Skipped", output):
        for kind, count in zip(("passed", "failed", "pending", "skipped"), found.groups()):
            packages[name][kind] += int(count)
    if found := re.match(r"\s*\[(?:FAIL|TIMEDOUT|PANICKED!)\] (.*)", output):
        failed.add(f"{name}: {found.group(1)}")
    # A suite that ends without figures has failed as a whole.
    if event["Action"] == "fail" and "Test" not in event and not packages[name]:
        packages[name]["failed"] += 1
print(f"{'package':32}{'passed':>8}{'failed':>8}{'skipped':>8}")
for name, specs in sorted(packages.items()):
    print(f"{name:32}{specs['passed']:8}{specs['failed']:8}{specs['pending'] + specs['skipped']:8}")
for line in sorted(failed):
    print("failed:", line)
passed, broken = (sum(specs[kind] for specs in packages.values()) for kind in ("passed", "failed"))
print(f"controller-runtime {sys.argv[2]}: {passed} of {passed + broken} specs passed in {len(packages)} packages")
# One in fifty may differ from a kube-apiserver.
sys.exit(0 if passed and broken * 50 <= passed else 1)
PYTHON
