#!/usr/bin/env bash
# Builds the engine of the playground as WebAssembly into console/build-wasm/pleach.wasm, from where
# scripts/build-console.sh puts it into the console. Needs rustup's target wasm32-unknown-unknown, or Debian's rustc-web,
# cargo-web, rust-web-src and lld-19, which scripts/setup.sh installs. With neither there is no file, and the playground
# asks the server. What was built from the same sources before is taken from the target directory.
set -euo pipefail
cd "$(dirname "$0")/.."

triple=wasm32-unknown-unknown
target="${CARGO_TARGET_DIR:-$PWD/target}"
made=console/build-wasm/pleach.wasm

toolchain=
if [ -d "$(rustc --print sysroot 2>/dev/null)/lib/rustlib/$triple" ]; then
  toolchain=rustup
elif [ -x /usr/bin/rustc ] && [ -x /usr/bin/cargo ] && command -v wasm-ld-19 >/dev/null &&
  [ -d "$(/usr/bin/rustc --print sysroot)/lib/rustlib/src/rust/library/std" ]; then
  toolchain=debian
else
  rm -f "$made"
  echo "wasm: neither rustup's target $triple nor Debian's rustc-web: the playground will ask the server" >&2
  exit 0
fi

# The crates that the module is made of, and how.
crates="$(cargo tree --locked -p pleach-wasm -e normal,build --prefix none --format '{p}' 2>/dev/null |
  sed -n 's/^\(pleach[a-z-]*\) v.*/\1/p' | sort -u)"
[ -n "$crates" ] || { echo 'wasm: cargo tree failed' >&2; exit 1; }
version="$(if [ "$toolchain" = rustup ]; then rustc -vV; else /usr/bin/rustc -vV; fi)"
hash="$({
  echo "$version"
  for crate in $crates; do
    find "crates/$crate" -type f ! -path '*/tests/*' ! -path '*/benches/*' -print0 | sort -z | xargs -0 sha256sum
  done
  sha256sum Cargo.toml Cargo.lock "$0"
} | sha256sum | cut -c1-32)"
kept="$target/wasm/$hash.wasm"

if ! [ -f "$kept" ]; then
  # A request to the engine may be nested as deep as the browser's own stack allows.
  export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS='-C link-arg=-zstack-size=8388608'
  export CARGO_TARGET_DIR="$target/wasm/build"
  build=(build --profile wasm --quiet --target "$triple" -p pleach-wasm)
  if [ "$toolchain" = rustup ]; then
    cargo "${build[@]}"
  else
    # Debian has the sources of the standard library, not the library.
    RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-19 \
      /usr/bin/cargo "${build[@]}" -Z build-std=std,panic_abort
  fi
  cp "$CARGO_TARGET_DIR/$triple/wasm/pleach_wasm.wasm" "$kept.part"
  mv "$kept.part" "$kept"
fi
mkdir -p "$(dirname "$made")"
cmp -s "$kept" "$made" || cp "$kept" "$made"
