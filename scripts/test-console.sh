#!/usr/bin/env bash
# Clicks through the web console in Chromium against the debug build. Needs console/dist (scripts/build-console.sh) and
# target/debug/pleach; CONSOLE_SCREENSHOTS names a directory for pictures of every page.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$(scripts/node-path.sh)"
export PATH

target="${CARGO_TARGET_DIR:-$PWD/target}"
PLEACH_BINARY="${PLEACH_BINARY:-$target/debug/pleach}" exec node --test --test-concurrency=2 --test-reporter=spec console/test/*.test.mjs
