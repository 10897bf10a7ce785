#!/usr/bin/env bash
# Builds the web console into console/dist, from where `cargo build` embeds it. Needs Node 20 or newer and npm; packages
# are those of console/package-lock.json. `cargo build` alone never runs this: it needs neither Node nor the network.
set -euo pipefail
cd "$(dirname "$0")/../console"

command -v npm >/dev/null || { echo 'build-console: npm is missing: install Node 20 or newer' >&2; exit 1; }
# npm writes this file when it is done.
[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-fund --no-audit --loglevel=error
npm run --silent build
