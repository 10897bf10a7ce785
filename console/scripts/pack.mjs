// Compresses what Vite built into dist/, from where cargo embeds it, and checks the size that the page may have.

import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const MOST_PAGE = 350_000;
const MOST_WASM = 1_500_000;

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const [build, dist] = [join(root, "build"), join(root, "dist")];

// The engine in WebAssembly, if scripts/build-wasm.sh made one.
const wasm = join(root, "build-wasm", "pleach.wasm");
if (existsSync(wasm)) {
  const hash = createHash("sha256").update(readFileSync(wasm)).digest("hex").slice(0, 8);
  cpSync(wasm, join(build, "assets", `pleach-${hash}.wasm`));
}

for (const name of readdirSync(dist)) if (name !== ".gitignore") rmSync(join(dist, name), { recursive: true });
const sizes = { page: 0, wasm: 0 };
for (const file of readdirSync(build, { recursive: true, withFileTypes: true })) {
  if (!file.isFile()) continue;
  const path = join(file.parentPath ?? file.path, file.name);
  // Everything but the page itself is below assets/.
  const name = path.slice(build.length + 1);
  const packed = gzipSync(readFileSync(path), { level: 9 });
  const to = join(dist, `${name}.gz`);
  mkdirSync(dirname(to), { recursive: true });
  writeFileSync(to, packed);
  sizes[name.endsWith(".wasm") ? "wasm" : "page"] += packed.length;
}
console.log(`console: ${sizes.page} bytes compressed, and ${sizes.wasm} of WebAssembly`);
if (sizes.page > MOST_PAGE || sizes.wasm > MOST_WASM) {
  console.error(`console: at most ${MOST_PAGE} bytes, and ${MOST_WASM} of WebAssembly`);
  process.exit(1);
}
