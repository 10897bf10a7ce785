// The engine in WebAssembly answers as the server does, byte by byte: on the CRDs of the console's own tests, on odd
// questions, and on a corpus of real CRDs and objects where PLEACH_SHARED or ../shared has one.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { HOSTILE, TRAP, widget, WIDGETS } from "./fixtures.mjs";
import { send, startServer, TOKEN } from "./server.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const binary = process.env.PLEACH_BINARY ?? join(root, "../target/debug/pleach");
const shared = process.env.PLEACH_SHARED ?? join(root, "../../shared");

let server, cookie, module, instance;

before(async () => {
  const assets = join(root, "dist/assets");
  const name = readdirSync(assets).find((name) => name.endsWith(".wasm.gz"));
  assert.ok(name, "there is no WebAssembly in console/dist: scripts/build-wasm.sh says why");
  module = await WebAssembly.compile(gunzipSync(readFileSync(join(assets, name))));
  server = await startServer(binary, ["--console-dir", join(root, "dist")]);
  const headers = { "X-Pleach-Console": "1" };
  const signed = await send(`${server.url}/console/session`, { method: "POST", headers, body: JSON.stringify({ token: TOKEN }) });
  assert.equal(signed.status, 200);
  assert.match(JSON.parse(signed.text).wasm, /^assets\/pleach-[0-9a-f]+\.wasm$/);
  cookie = signed.headers["set-cookie"][0].split(";")[0];
});

after(() => server?.stop());

function inWasm(question) {
  instance ??= new WebAssembly.Instance(module, {}).exports;
  const bytes = new TextEncoder().encode(question);
  const at = instance.pleach_input(bytes.length);
  new Uint8Array(instance.memory.buffer, at, bytes.length).set(bytes);
  const length = instance.pleach_answer();
  return new TextDecoder().decode(new Uint8Array(instance.memory.buffer, instance.pleach_output(), length));
}

async function onServer(question) {
  const headers = { "X-Pleach-Console": "1", Cookie: cookie };
  const answer = await send(`${server.url}/console/engine`, { method: "POST", headers, body: question });
  assert.equal(answer.status, 200, answer.text);
  return answer.text;
}

async function same(question, what) {
  const text = JSON.stringify(question);
  assert.equal(inWasm(text), await onServer(text), what);
}

async function everything(crd, objects, what) {
  await same({ op: "check", crds: crd, objects: objects.join("\n---\n") }, `check ${what}`);
  for (const op of ["openapi", "skeleton", "expand"]) await same({ op, crd }, `${op} ${what}`);
  for (const extent of ["minimal", "full"]) await same({ op: "sample", crd, version: "", extent }, `${extent} sample ${what}`);
}

test("the module needs nothing of its surroundings", () => {
  assert.deepEqual(WebAssembly.Module.imports(module), []);
});

test("own CRDs and objects have the same answers", async () => {
  const crd = JSON.stringify(WIDGETS);
  await everything(crd, [widget("a"), widget("b", { size: 0, color: "blue", parts: [{}], other: 1 })].map((object) => JSON.stringify(object)), "widgets");
  await everything(JSON.stringify(HOSTILE), [JSON.stringify(TRAP)], "traps");
  const older = structuredClone(WIDGETS);
  older.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.size.maximum = 5;
  await same({ op: "diff", old: crd, new: JSON.stringify(older) }, "diff");
  const [base, mine, theirs] = [1, 2, 3].map((size) => JSON.stringify(widget("a", { size })));
  await same({ op: "merge", base, mine, theirs, crd }, "merge");
});

test("odd questions have the same answers", async () => {
  for (const text of ["", "{", "[]", '{"op":"x"}', '{"op":"check","crds":"a: [","objects":"\\u0000"}', '{"op":"sample","crd":"a: 1"}']) {
    assert.equal(inWasm(text), await onServer(text), text);
  }
  const rule = (rule) => {
    const crd = structuredClone(WIDGETS);
    crd.spec.versions[0].schema.openAPIV3Schema["x-kubernetes-validations"] = [{ rule }];
    return JSON.stringify(crd);
  };
  const rules = [
    "self.spec.size >",
    "self.spec.parts.all(p, self.spec.parts.all(q, self.spec.parts.all(r, p.name != q.name || r.count == 1)))",
    "self.spec.note.matches('^(a|b)*c$') && duration('1h') < duration('61m') && timestamp('2026-01-01T00:00:00Z').getDayOfWeek('Europe/Berlin') == 4",
    "quantity('1Gi').isGreaterThan(quantity('1M')) && ip('127.0.0.1').isLoopback() && '%d %s'.format([1, 'a']) == '1 a'",
  ];
  for (const text of rules) await same({ op: "check", crds: rule(text), objects: JSON.stringify(widget("a", { note: "ab" })) }, text);
});

test("nesting that needs too much of the browser's stack ends with a trap, and the next instance answers", async () => {
  const deep = 9_000;
  const objects = `${'{"a":'.repeat(deep)}1${"}".repeat(deep)}`;
  try {
    await same({ op: "check", crds: "", objects }, "nesting");
  } catch (error) {
    assert.ok(error instanceof WebAssembly.RuntimeError || error instanceof RangeError, String(error));
    instance = undefined;
  }
  await same({ op: "check", crds: JSON.stringify(WIDGETS), objects: "" }, "afterwards");
});

test("a corpus of real CRDs and objects has the same answers", async () => {
  const corpus = join(shared, "corpus");
  if (!existsSync(corpus)) {
    console.log("NOT RUN: no corpus; set PLEACH_SHARED to where it is");
    return;
  }
  const files = (directory) => readdirSync(join(corpus, directory), { recursive: true }).map((name) => join(corpus, directory, name)).filter((path) => statSync(path).isFile());
  const read = (path) => readFileSync(path, "utf8");
  const project = (path) => path.slice(corpus.length + 1).split("/")[1];
  const objects = files("objects");
  let [crds, bytes] = [0, 0];
  for (const path of files("crds")) {
    const crd = read(path);
    const before = performance.now();
    await everything(crd, objects.filter((object) => project(object) === project(path)).map(read), path);
    if (process.env.CONSOLE_TIMES) console.log(`${(performance.now() - before).toFixed(0)} ms ${path}`);
    crds += 1;
    bytes += crd.length;
  }
  assert.ok(crds > 0);
  console.log(`${crds} CRDs of ${(bytes / 1e6).toFixed(1)} MB`);
});
