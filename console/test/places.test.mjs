// Where the console is reached and how large it is: below a path of a proxy, under another name, from a terminal's link.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { FILE, types } from "../scripts/types.mjs";
import { GROUP, widget, WIDGETS } from "./fixtures.mjs";
import { api, onTerminal, send, signInLink, startProxy, startServer, TOKEN } from "./server.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const dist = ["--console-dir", join(root, "dist")];
const binary = process.env.PLEACH_BINARY ?? join(root, "../target/debug/pleach");
const executablePath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((path) => existsSync(path));
const NAME = "pleach.example.com";

let server, browser;

before(async () => {
  server = await startServer(binary, [...dist, "--console-hosts", NAME]);
  await api(server, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", WIDGETS);
  await api(server, "POST", `/apis/${GROUP}/v1/namespaces/default/widgets`, widget("first"));
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox", `--host-resolver-rules=MAP ${NAME} 127.0.0.1`] });
});

after(async () => {
  await browser?.close();
  server?.stop();
});

async function newPage() {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  return page;
}

/** Goes through pages that load scripts, the engine, lists and watches. */
async function goThrough(page, base) {
  await page.getByRole("link", { name: "Widget", exact: true }).click();
  await page.getByRole("link", { name: "first" }).click();
  await page.getByText("size: 3").waitFor();
  await page.goto(`${base}/console/#/playground`);
  await page.getByText("many replicas run on the hour").first().waitFor();
  await page.getByText("Checked in your browser; nothing is sent.").waitFor();
  await page.reload();
  await page.getByText("many replicas run on the hour").first().waitFor();
}

test("below a path of a proxy every request stays below that path", async () => {
  const proxy = await startProxy(server, "/tools/pleach");
  try {
    const page = await newPage();
    const requests = [];
    page.on("request", (request) => requests.push(request.url()));
    await page.goto(`${proxy.url}/console`);
    await page.getByLabel("Bearer token").fill(TOKEN);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "APIs" }).waitFor();
    await goThrough(page, proxy.url);
    assert.deepEqual(requests.filter((url) => !url.startsWith(`${proxy.url}/console`)), []);
    assert.ok(requests.some((url) => url.startsWith(`${proxy.url}/console/k8s/apis/`)));
    const [cookie] = await page.context().cookies();
    assert.equal(cookie.path, "/tools/pleach/console");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Bearer token").waitFor();
    assert.deepEqual(await page.context().cookies(), []);
    await page.context().close();
  } finally {
    proxy.stop();
  }
});

test("--console-hosts allows a name, and no other", async () => {
  const port = new URL(server.url).port;
  const status = async (host) => (await send(`${server.url}/console/`, { headers: { Host: host } })).status;
  assert.equal(await status(`${NAME}:${port}`), 200);
  assert.equal(await status(NAME.toUpperCase()), 200);
  assert.equal(await status(`x.${NAME}:${port}`), 421);
  assert.equal(await status(`${NAME}.evil.example.com`), 421);
  const base = `https://${NAME}:${port}`;
  const page = await newPage();
  const link = await signInLink(server);
  await page.goto(link.replace(server.url, base));
  await page.getByRole("heading", { name: "APIs" }).waitFor();
  await goThrough(page, base);
  // The session is that of this name: the address of the same server has none.
  await page.goto(`${server.url}/console/`);
  await page.getByLabel("Bearer token").waitFor();
  await page.context().close();
});

test("a terminal gets a link that signs the admin in once, a pipe gets none", async () => {
  const { match, stop } = await onTerminal(binary, dist, /console: (https:\S+#\/sign-in\/\S+)/);
  try {
    const page = await newPage();
    await page.goto(match[1]);
    await page.getByRole("heading", { name: "APIs" }).waitFor();
    await page.getByText("admin", { exact: true }).waitFor();
    const other = await newPage();
    await other.goto(match[1]);
    await other.getByText("This link was used before").waitFor();
    await other.context().close();
    await page.context().close();
  } finally {
    stop();
  }
  // The server of the other tests writes to a pipe.
  assert.ok(!server.printed().some((line) => line.startsWith("console:")), server.printed().join("\n"));
});

test("types of the page are those of the server's OpenAPI documents", async () => {
  assert.equal(readFileSync(FILE, "utf8"), await types(server), "run console/scripts/types.mjs");
});

test("the page stays below 350 kB compressed, its WebAssembly below 1.5 MB", () => {
  const sizes = { page: 0, wasm: 0 };
  for (const name of readdirSync(join(root, "dist"), { recursive: true })) {
    if (name.endsWith(".gz")) sizes[name.endsWith(".wasm.gz") ? "wasm" : "page"] += statSync(join(root, "dist", name)).size;
  }
  console.log(`the page has ${sizes.page} bytes compressed, the WebAssembly ${sizes.wasm}`);
  assert.ok(sizes.page > 0 && sizes.page <= 350_000, `${sizes.page}`);
  assert.ok(sizes.wasm <= 1_500_000, `${sizes.wasm}`);
});

test("the first paint takes little CPU", async () => {
  const page = await newPage();
  await page.goto(await signInLink(server));
  await page.getByRole("heading", { name: "APIs" }).waitFor();
  const times = [];
  for (let i = 0; i < 5; i++) {
    await page.goto("about:blank");
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    await page.goto(`${server.url}/console/`);
    await page.getByRole("link", { name: "Widget", exact: true }).waitFor();
    const { metrics } = await session.send("Performance.getMetrics");
    const of = (name) => (metrics.find((metric) => metric.name === name)?.value ?? 0) * 1000;
    const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN);
    times.push({ cpu: of("TaskDuration"), script: of("ScriptDuration"), layout: of("LayoutDuration") + of("RecalcStyleDuration"), paint });
    await session.detach();
  }
  const median = (key) => times.map((time) => time[key]).sort((a, b) => a - b)[times.length >> 1];
  console.log(`until the list of APIs is there: ${median("cpu").toFixed(0)} ms of the main thread's CPU, of which script ${median("script").toFixed(0)}, style and layout ${median("layout").toFixed(0)}; first paint after ${median("paint").toFixed(0)} ms`);
  assert.ok(times.every((time) => time.cpu > 0));
  await page.context().close();
});
