#!/usr/bin/env bash
# Everything: installs what is needed, checks the style, builds, runs every test, prints the figures.
set -euo pipefail
cd "$(dirname "$0")/.."

target="${CARGO_TARGET_DIR:-$PWD/target}"
export PLEACH_TOOLS="${PLEACH_TOOLS:-$target/tools}"
if ! [ -d "${PLEACH_SHARED:-../shared}" ]; then
  echo 'test: no ../shared and no PLEACH_SHARED: tests on the corpus and the recordings find nothing' >&2
fi

# One test holds ten thousand connections open.
ulimit -n "$(ulimit -Hn)"

began=$SECONDS
step() { printf '\n== %s (after %d s)\n' "$*" "$((SECONDS - began))"; }

# A step of its own builds the console, with the WebAssembly module; cargo need not.
export PLEACH_CONSOLE=none

step 'setup'
scripts/setup.sh

step 'style'
cargo fmt --all --check
cargo clippy --workspace --all-targets --quiet -- -D warnings
# As a program depends on it that turns the default features off.
cargo check --quiet -p pleach-sdk --no-default-features

step 'docs'
RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --quiet

step 'dependencies'
# Without the network; known vulnerabilities need it: cargo deny check advisories.
"$PLEACH_TOOLS/bin/cargo-deny" --offline check --hide-inclusion-graph --allow duplicate bans licenses sources

step 'console'
scripts/build-console.sh

step 'build'
# Tests start this binary.
cargo build --quiet -p pleach

step 'tests in Rust'
log="$target/test.log"
failed=0
cargo test --workspace --no-fail-fast 2>&1 | tee "$log" || failed=1

step 'tests of clients on etcd'
# The whole workspace, so that nothing is built again for other features.
PLEACH_ETCD=all cargo test --workspace --no-fail-fast --test kube_rs --test python --test webhooks \
  --test garbage_collection --test websocket 2>&1 | tee -a "$log" || failed=1

step 'tests without the write cache'
PLEACH_NO_WRITE_CACHE=1 cargo test --workspace --no-fail-fast --test conformance --test stored --test builtin \
  --test generators --test kube_rs 2>&1 | tee -a "$log" || failed=1

step 'tests in Go'
go="$(command -v go || echo "$PLEACH_TOOLS/venv/bin/go")"
PLEACH_BINARY="$target/debug/pleach" "$go" -C tests/go test -count=1 -v ./... 2>&1 | tee -a "$log" || failed=1

step 'tests in Go on etcd'
PLEACH_ETCD=all PLEACH_BINARY="$target/debug/pleach" "$go" -C tests/go test -count=1 -v ./... 2>&1 | tee -a "$log" || failed=1

step 'a kubebuilder project on envtest'
"$target/debug/pleach" envtest install "$target/envtest" > /dev/null
KUBEBUILDER_ASSETS="$target/envtest" "$go" -C tests/envtest test -count=1 -v ./... 2>&1 | tee -a "$log" || failed=1

step 'helpers in Go and Python'
PLEACH_BINARY="$target/debug/pleach" "$go" -C helpers/go test -count=1 -v ./... 2>&1 | tee -a "$log" || failed=1
(cd helpers/python && PLEACH_BINARY="$target/debug/pleach" PYTHONDONTWRITEBYTECODE=1 \
  "$PLEACH_TOOLS/venv/bin/python" -m pytest -q -p no:cacheprovider) 2>&1 | tee -a "$log" || failed=1

step 'tests of the console in Chromium'
scripts/test-console.sh 2>&1 | tee -a "$log" || failed=1

step 'figures'
awk '/^test result:/ { rust += $4; broken += $6 }
     /^test result: FAILED/ { reported++ }
     # Programs that failed, those that died among them.
     /^error: [0-9]+ targets? failed:/ { programs += $2 }
     /^conformance: / { print; if ($2 > recorded) recorded = $2; broken += $8 }
     /^--- PASS/ { go++ }
     /^--- FAIL/ { broken++ }
     /^[0-9]+ passed.* in / { python += $1 }
     /^([0-9]+ passed, )?[0-9]+ (failed|error)/ { broken++ }
     /^ℹ pass / { console += $3 }
     /^ℹ fail / { broken += $3 }
     END { if (programs > reported) broken += programs - reported
           printf "Rust %d, recorded conversations %d, Go %d, Python %d, console %d\n", rust, recorded, go, python, console
           printf "%d passed, %d failed\n", rust + recorded + go + python + console, broken }' "$log"
exit "$failed"
