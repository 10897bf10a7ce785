#!/usr/bin/env bash
# Everything: installs what is needed, checks the style, builds, runs every test, prints the figures.
set -euo pipefail
cd "$(dirname "$0")/.."

target="${CARGO_TARGET_DIR:-$PWD/target}"
export PLEACH_TOOLS="${PLEACH_TOOLS:-$target/tools}"
if ! [ -d "${PLEACH_SHARED:-../shared}" ]; then
  echo 'test: no ../shared and no PLEACH_SHARED: tests on the corpus and the recordings find nothing' >&2
fi

began=$SECONDS
step() { printf '\n== %s (after %d s)\n' "$*" "$((SECONDS - began))"; }

step 'setup'
scripts/setup.sh

step 'style'
cargo fmt --all --check
cargo clippy --workspace --all-targets --quiet -- -D warnings

step 'build'
# Tests start this binary.
cargo build --quiet -p pleach

step 'tests in Rust'
log="$target/test.log"
cargo test --workspace --no-fail-fast 2>&1 | tee "$log"

step 'tests in Go'
go="$(command -v go || echo "$PLEACH_TOOLS/venv/bin/go")"
PLEACH_BINARY="$target/debug/pleach" "$go" -C tests/go test -count=1 ./... 2>&1 | tee -a "$log"

step 'figures'
awk '/^test result:/ { passed += $4; failed += $6 }
     /^ok  / { go++ }
     END { printf "%d tests in Rust passed, %d failed; %d Go packages ok\n", passed, failed, go
           printf "%d passed, %d failed\n", passed + go, failed }' "$log"
