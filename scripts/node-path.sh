#!/usr/bin/env bash
# Prints a PATH with a Node that can build the console: the system's, or that of scripts/setup.sh. Fails if there is none.
set -euo pipefail
cd "$(dirname "$0")/.."

tools="${PLEACH_TOOLS:-${CARGO_TARGET_DIR:-$PWD/target}/tools}"
for path in "$PATH" "$tools/venv/bin:$PATH"; do
  if PATH="$path" command -v npm >/dev/null && PATH="$path" node -e '
    const [major, minor] = process.versions.node.split(".").map(Number);
    process.exit(major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19) ? 0 : 1);'; then
    echo "$path"
    exit
  fi
done
echo 'node-path: Node 20.19, 22.12 or newer is missing: install it, or run scripts/setup.sh' >&2
exit 1
