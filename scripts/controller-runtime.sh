#!/usr/bin/env bash
# Runs the test suites of controller-runtime itself against the debug build, a fresh server for each package, and prints
# how many specs pass.
#
#   scripts/controller-runtime.sh                       the packages that need a cluster
#   scripts/controller-runtime.sh handler source        some of them
#   KUBEBUILDER_ASSETS=<directory> REFERENCE=yes …      the same on the kube-apiserver and etcd in that directory
#
# The suites are those of the Go module, which are downloaded; they take some ten minutes, most of it to compile them.
set -euo pipefail
cd "$(dirname "$0")/.."

version=v0.24.1
packages=("$@")
if [ "${#packages[@]}" = 0 ]; then
  packages=(client cache builder manager controller controller/controllerutil handler source webhook
    internal/recorder metrics/filters)
fi

target="${CARGO_TARGET_DIR:-$PWD/target}"
tools="${PLEACH_TOOLS:-$target/tools}"
go="$(command -v go || echo "$tools/venv/bin/go")"
binary="${PLEACH_BINARY:-$target/debug/pleach}"
work="$target/controller-runtime"
source="$work/$version"
mkdir -p "$work"

if ! [ -d "$source" ]; then
  module="$("$go" mod download -json "sigs.k8s.io/controller-runtime@$version" | sed -n 's/^\t"Dir": "\(.*\)",\{0,1\}$/\1/p')"
  rm -rf "$source.new"
  cp -r "$module" "$source.new"
  chmod -R u+w "$source.new"
  mv "$source.new" "$source"
fi
if [ -z "${REFERENCE:-}" ] && ! [ -x "$binary" ]; then
  cargo build --quiet -p pleach
fi

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
  # The suites expect no controllers, as with envtest.
  "$binary" serve --in-memory --port 0 --log-level warn --controllers "" --kubeconfig "$KUBECONFIG" >"$home/out" 2>"$work/server.log" &
  server=$!
  for _ in $(seq 300); do
    grep -sq '^export KUBECONFIG=' "$home/out" && return
    sleep 0.1
  done
  echo 'controller-runtime: the server does not start' >&2
  exit 1
}

passed=0
failed=0
printf '%-28s %8s %8s %8s\n' package passed failed skipped
for package in "${packages[@]}"; do
  log="$work/${package//\//-}.log"
  [ -n "${REFERENCE:-}" ] || start
  (cd "$source" && "$go" test -vet=off -count=1 -v -timeout 20m "./pkg/$package" -ginkgo.no-color) >"$log" 2>&1 || true
  stop
  # "FAIL! -- 22 Passed | 1 Failed | 0 Pending | 1 Skipped"
  counts="$(sed -n 's/^.*! -- \([0-9]*\) Passed | \([0-9]*\) Failed | \([0-9]*\) Pending | \([0-9]*\) Skipped.*$/\1 \2 \4/p' "$log")"
  [ -n "$counts" ] || counts='0 1 0'
  while read -r good bad skipped; do
    printf '%-28s %8s %8s %8s\n' "$package" "$good" "$bad" "$skipped"
    passed=$((passed + good))
    failed=$((failed + bad))
  done <<<"$counts"
  sed -n 's/^\s*\[FAIL\]/  [FAIL]/p' "$log" | sort -u
done
echo "controller-runtime $version: $passed passed, $failed failed; logs in $work"
# One in fifty may differ from a kube-apiserver.
[ "$passed" -gt 0 ] && [ $((failed * 50)) -le "$passed" ]
