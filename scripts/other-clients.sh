#!/usr/bin/env bash
# Runs a small operator with each of fabric8, the official Java client and the official client for Node against the
# debug build; the tests of the JUnit extension; fabric8's kube-api-test and kuttl with Pleach as the kube-apiserver and
# etcd that they start; and then helm, kustomize and Flux's library from their Go modules. Needs Go, Java 17, Maven,
# Node 20 and npm (or their packages' registries); takes some minutes the first time, when their libraries are downloaded
# and compiled, so it is not part of scripts/test.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

target="${CARGO_TARGET_DIR:-$PWD/target}"
work="$target/other-clients"
mkdir -p "$work"
home="$(mktemp -d)"
export KUBECONFIG="$home/kubeconfig"

cargo build --quiet -p pleach
"$target/debug/pleach" serve --in-memory --port 0 --log-level warn --kubeconfig "$KUBECONFIG" >"$home/out" &
server=$!
trap 'kill "$server" 2>/dev/null || true; rm -rf "$home"' EXIT
for _ in $(seq 300); do
  grep -sq '^export KUBECONFIG=' "$home/out" && break
  sleep 0.1
done

failed=0
run() { timeout 900 "$@" || { echo "other-clients: $1 failed: $*" >&2; failed=1; }; }

# Maven's own directory stays out of the source tree.
mvn -q -B -f tests/java/pom.xml -DbuildDirectory="$work/java" compile \
  org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath -Dmdep.outputFile="$work/classpath"
java=(java -Dorg.slf4j.simpleLogger.defaultLogLevel=off -cp "$work/java/classes:$(cat "$work/classpath")")
run "${java[@]}" pleach.clients.Fabric8
run "${java[@]}" pleach.clients.Official

# kube-api-test finds its programs in a directory like that of setup-envtest.
version=1.36.4
platform="linux-$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')"
"$target/debug/pleach" envtest install "$work/kube-api-test/k8s/$version-$platform" >/dev/null
run "${java[@]}" pleach.clients.KubeApiTest "$work/kube-api-test" "$version"

"$target/debug/pleach" envtest install "$work/assets" >/dev/null
go="$(command -v go || echo "${PLEACH_TOOLS:-$target/tools}/venv/bin/go")"
(cd tests/kuttl && KUBEBUILDER_ASSETS="$work/assets" run "$go" run github.com/kudobuilder/kuttl/cmd/kubectl-kuttl@v0.22.0 \
  test --start-control-plane --artifacts-dir "$work/kuttl" suite) || failed=1

PLEACH_BINARY="$target/debug/pleach" run mvn -q -B -f helpers/java/pom.xml -DbuildDirectory="$work/junit" test

cp tests/node/package.json tests/node/operator.mjs "$work/"
[ -d "$work/node_modules/@kubernetes/client-node" ] || npm install --silent --no-fund --no-audit --prefix "$work"
run node "$work/operator.mjs" tests/java/src/main/resources/greetings.yaml
export PLEACH_BINARY="$target/debug/pleach"
run "$(command -v go || echo "${PLEACH_TOOLS:-$target/tools}/venv/bin/go")" -C tests/deploy test -count=1 ./...
exit "$failed"
