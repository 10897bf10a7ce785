#!/usr/bin/env bash
# Runs controller-runtime's own suites with Pleach as the control plane of envtest: the suites start kube-apiserver and
# etcd of KUBEBUILDER_ASSETS themselves. Prints how many of their specs passed, and the names of those that did not.
#
#   scripts/controller-runtime-envtest.sh [PACKAGE...]        ./pkg/client, for instance; all that need a control plane otherwise
#
# It compiles all of controller-runtime and downloads what its tests need, so it is not part of scripts/test.sh. With
# KUBEBUILDER_ASSETS set, that control plane is used: for a comparison with the real one.
set -euo pipefail
cd "$(dirname "$0")/.."

target="${CARGO_TARGET_DIR:-$PWD/target}"
go="$(command -v go || echo "${PLEACH_TOOLS:-$target/tools}/venv/bin/go")"
version="$(sed -n 's/^\tsigs.k8s.io\/controller-runtime \(v[^ ]*\).*/\1/p' tests/envtest/go.mod)"
work="$target/controller-runtime"
results="$work/results.json"

if [ -z "${KUBEBUILDER_ASSETS:-}" ]; then
  cargo build --quiet -p pleach
  "$target/debug/pleach" envtest install "$target/envtest" >/dev/null
  export KUBEBUILDER_ASSETS="$target/envtest"
fi

# Tests write beside their sources; the module cache is read only.
if ! [ -d "$work/$version" ]; then
  mkdir -p "$work"
  module="$("$go" mod download -json "sigs.k8s.io/controller-runtime@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')"
  cp -R "$module" "$work/$version"
  chmod -R u+w "$work/$version"
fi

packages=("$@")
if [ "${#packages[@]}" = 0 ]; then
  mapfile -t packages < <(cd "$work/$version" && grep -rlE 'envtest\.Environment|controlplane\.' --include='*_test.go' pkg |
    xargs -n1 dirname | sort -u | sed 's/^/.\//')
fi
# One suite after the other: each starts control planes of its own.
(cd "$work/$version" && "$go" test -p 1 -count=1 -timeout 20m -json "${packages[@]}") >"$results" || true

python3 - "$results" <<'PYTHON'
import collections, json, re, sys

specs = collections.Counter()
failed, packages = [], {}
for line in open(sys.argv[1]):
    try:
        event = json.loads(line)
    except ValueError:
        print(line, end="")
        continue
    name = event.get("Package", "").removeprefix("sigs.k8s.io/controller-runtime/")
    output = re.sub(r"\x1b\[[0-9;]*m", "", event.get("Output", ""))
    # What Ginkgo prints at the end of a suite, and the names of specs that fail.
    if found := re.search(r"(\d+) Passed \| (\d+) Failed \| (\d+) Pending \| (\d+) Skipped", output):
        for kind, count in zip(("passed", "failed", "pending", "skipped"), found.groups()):
            specs[kind] += int(count)
    if found := re.match(r"\s*\[(?:FAIL|TIMEDOUT|PANICKED!)\] (.*)", output):
        failed.append(f"{name}: {found.group(1)}")
    if event["Action"] in ("pass", "fail") and "Test" not in event:
        packages[name] = event["Action"]
for line in sorted(set(failed)):
    print("failed:", line)
for name, outcome in sorted(packages.items()):
    print(f"{outcome}  {name}")
print(f"controller-runtime: {specs['passed']} of {specs['passed'] + specs['failed']} specs passed "
      f"({specs['pending']} pending, {specs['skipped']} skipped) in {len(packages)} packages")
PYTHON
