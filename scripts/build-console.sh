#!/usr/bin/env bash
# Builds the web console into console/dist, from where `cargo build` embeds it. Needs Node 20.19 or newer and npm; packages
# are those of console/package-lock.json. The engine as WebAssembly is part of it where scripts/build-wasm.sh can build
# one, unless PLEACH_WASM=none. `cargo build` runs this if nothing was built before and npm is there.
set -euo pipefail
[ "${PLEACH_WASM:-}" = none ] || "$(dirname "$0")/build-wasm.sh"
PATH="$("$(dirname "$0")/node-path.sh")"
export PATH
cd "$(dirname "$0")/../console"

# npm writes this file when it is done. `npm ci` would want the packages of other platforms in the lock file too.
[ node_modules/.package-lock.json -nt package-lock.json ] || npm install --no-save --no-fund --no-audit --loglevel=error
npm run --silent build
