// Clicks through every page in a real Chromium against a real server.
//
// PLEACH_BINARY and CHROMIUM name the programs; CONSOLE_SCREENSHOTS a directory for pictures.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test as nodeTest } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { GROUP, HOSTILE, TRAP, trapEvent, widget, WIDGETS } from "./fixtures.mjs";
import { api, send, signInLink, startServer, TOKEN } from "./server.mjs";

/** Rows of the large table: CONSOLE_ROWS=10000 measures more. */
const ROWS = Number(process.env.CONSOLE_ROWS ?? 2_000);
const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const binary = process.env.PLEACH_BINARY ?? join(root, "../target/debug/pleach");
const executablePath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((path) => existsSync(path));
const axeSource = readFileSync(join(root, "node_modules/axe-core/axe.min.js"), "utf8");
const pictures = process.env.CONSOLE_SCREENSHOTS;

let server, browser, context, page;
/** Steps build on one another: after one has failed, the others fail at once. */
let failed = "";
function test(name, run) {
  nodeTest(name, async () => {
    if (failed) throw new Error(`not run: ${failed}`);
    try {
      await run();
    } catch (error) {
      failed = name;
      if (pictures) await page?.screenshot({ path: join(pictures, "failed.png") });
      throw error;
    }
  });
}

/** Serious findings of axe, and pages that are wider than a small screen. */
const obstacles = [];
const problems = [];
const requests = [];

before(async () => {
  server = await startServer(binary, ["--console-dir", join(root, "dist")]);
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  context = await newContext();
  page = await newPage(context);
});

after(async () => {
  await browser?.close();
  server?.stop();
});

function newContext(options = {}) {
  return browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 800 }, permissions: ["clipboard-read", "clipboard-write"], ...options });
}

async function newPage(context) {
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  page.on("pageerror", (error) => problems.push(`error: ${error}`));
  page.on("console", (message) => {
    // Refused requests are logged by the browser, and are part of some tests.
    if (message.type() === "error" && !/Failed to load resource/.test(message.text())) problems.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => requests.push(request.url()));
  return page;
}

const at = (hash) => page.goto(`${server.url}/console/${hash}`);
const objects = `#/objects/${GROUP}/v1/widgets`;
const object = (name, tab = "yaml") => `#/object/${GROUP}/v1/widgets/default/${name}?tab=${tab}`;
const create = (path, value) => api(server, "POST", path, value);
const createWidget = (value) => create(`/apis/${GROUP}/v1/namespaces/default/widgets`, value);

/** Nothing serious in the page for people who use it without eyes or mouse. axe is run by the debugger: the policy of
 * the page would not let it in. */
async function axe(what) {
  const session = await context.newCDPSession(page);
  await session.send("Page.setBypassCSP", { enabled: true });
  const run = `${axeSource}; axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}).then((found) => JSON.stringify(found.violations.map((v) => ({id: v.id, impact: v.impact, nodes: v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + " | " + n.failureSummary)}))))`;
  const { result, exceptionDetails } = await session.send("Runtime.evaluate", { expression: run, awaitPromise: true });
  await session.detach();
  assert.equal(exceptionDetails, undefined, JSON.stringify(exceptionDetails));
  for (const violation of JSON.parse(result.value)) {
    if (violation.impact === "serious" || violation.impact === "critical") obstacles.push({ page: what, ...violation });
  }
}

/** Pictures at three widths, light and dark. */
async function picture(name) {
  if (!pictures) return;
  mkdirSync(pictures, { recursive: true });
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    for (const width of [400, 900, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      await page.waitForTimeout(150);
      await page.screenshot({ path: join(pictures, `${name}-${width}-${colorScheme}.png`) });
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1280, height: 800 });
}

async function looked(name) {
  await page.emulateMedia({ colorScheme: "dark" });
  await axe(`${name}, dark`);
  await page.emulateMedia({ colorScheme: "light" });
  await axe(name);
  const wider = async (what) => {
    const pixels = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (pixels > 0) obstacles.push(`${name} is ${pixels} pixels wider than ${what}`);
  };
  await page.setViewportSize({ width: 400, height: 800 });
  await wider("a screen of 400");
  // A window of 1280 by 800 at a zoom of 200 % has half as many pixels of CSS each way.
  await page.setViewportSize({ width: 640, height: 400 });
  await wider("a window at 200 %");
  await axe(`${name} at 200 %`);
  await page.setViewportSize({ width: 1280, height: 800 });
  // The text alone, as browsers' font size does it.
  await page.evaluate(() => (document.documentElement.style.fontSize = "200%"));
  await wider("a window with text of 200 %");
  await page.evaluate(() => (document.documentElement.style.fontSize = ""));
  await picture(name);
}

test("the server keeps other origins, hosts and requests without a session out", async () => {
  const at = (path, options) => send(`${server.url}/console${path}`, options);
  const page = await at("/");
  assert.equal(page.status, 200);
  const policy = page.headers["content-security-policy"];
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /unsafe-inline|'unsafe-eval'|https?:/);
  assert.doesNotMatch(page.text, /<script>|<style>|style=|onload=/);
  assert.equal((await at("")).headers.location, "console/");
  assert.equal((await at("/", { headers: { Host: "evil.example.com" } })).status, 421);
  assert.equal((await at("/session")).status, 403, "without the header");
  const own = { "X-Pleach-Console": "1" };
  assert.equal((await at("/session", { headers: own })).status, 401);
  assert.equal((await at("/k8s/api", { headers: own })).status, 401);
  assert.equal((await at("/engine", { method: "POST", headers: own, body: "{}" })).status, 401);
  const post = (headers, body) => at("/session", { method: "POST", headers, body: JSON.stringify(body) });
  assert.equal((await post(own, { token: "wrong" })).status, 401);
  assert.equal((await post(own, { code: "wrong" })).status, 401);
  assert.equal((await post({ ...own, Origin: "https://evil.example.com" }, { token: TOKEN })).status, 403);
  assert.equal((await post({ ...own, "Sec-Fetch-Site": "cross-site" }, { token: TOKEN })).status, 403);
  const signed = await post(own, { token: TOKEN });
  assert.equal(signed.status, 200);
  const [cookie] = signed.headers["set-cookie"];
  for (const part of ["HttpOnly", "Secure", "SameSite=Strict", "__Secure-pleach-console-"]) assert.ok(cookie.includes(part), cookie);
  const Cookie = cookie.split(";")[0];
  assert.equal((await at("/k8s/api/v1/namespaces", { headers: { ...own, Cookie } })).status, 200);
  assert.equal((await at("/k8s/api/v1/namespaces", { headers: { Cookie } })).status, 403, "a form or image of another page");
  assert.equal((await at("/k8s/api/v1/namespaces", { headers: { ...own, Cookie, Origin: "https://evil.example.com" } })).status, 403);
  assert.equal((await at("/k8s/api/v1/namespaces", { headers: { ...own, Cookie, Host: "localhost:1" } })).status, 401, "a session is for one origin");
  // The API itself takes no cookies.
  assert.equal((await send(`${server.url}/api/v1/namespaces`, { headers: { ...own, Cookie } })).status, 403);
  assert.equal((await at("/session", { method: "DELETE", headers: { ...own, Cookie } })).status, 204);
  assert.equal((await at("/k8s/api", { headers: { ...own, Cookie } })).status, 401, "signed out");
  assert.equal((await at("/links", { method: "POST" })).status, 401);
});

test("a link signs in once, and acts with its user's rights", async () => {
  await at("");
  await page.getByRole("heading", { name: "Pleach" }).waitFor();
  await looked("sign-in");
  const link = await signInLink(server);
  await page.goto("about:blank");
  await page.goto(link);
  await page.getByRole("heading", { name: "APIs" }).waitFor();
  assert.ok(!page.url().includes("sign-in"), "the code is not in the address any more");
  await page.getByText("admin").first().waitFor();
  const other = await newContext();
  const second = await newPage(other);
  await second.goto(link);
  await second.getByText("This link was used before").waitFor();
  await other.close();
});

test("without CRDs the page says how to make one", async () => {
  await page.getByRole("heading", { name: "No CRDs yet" }).waitFor();
  await looked("empty");
});

test("APIs are listed, searched and filtered", async () => {
  await create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", WIDGETS);
  const taken = structuredClone(WIDGETS);
  taken.metadata.name = `gadgets.${GROUP}`;
  taken.spec.names = { plural: "gadgets", singular: "widget", kind: "Gadget" };
  await create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", taken);
  await createWidget(widget("first", { parts: [{ name: "a" }, { name: "b", count: 2 }] }));
  await page.getByRole("button", { name: "Reload" }).click();
  await page.getByRole("link", { name: "Widget", exact: true }).waitFor();
  await page.getByText("names taken").waitFor();
  // Figures of the metrics, not lists: one request for each row would be too many.
  await page.getByRole("row", { name: /^Widget wd .* 1 \d+ B .*The dearest of 8 rules/ }).waitFor();
  assert.deepEqual(requests.filter((url) => url.endsWith("limit=1")), []);
  await page.keyboard.press("/");
  await page.keyboard.type("wd");
  await page.getByRole("link", { name: "Widget", exact: true }).waitFor();
  assert.equal(await page.getByText("Gadget").count(), 0);
  await page.getByLabel("Search APIs").fill("");
  await page.getByRole("button", { name: /^Built in/ }).click();
  await page.getByRole("link", { name: "ConfigMap", exact: true }).waitFor();
  await page.getByRole("button", { name: /^All/ }).click();
  await looked("apis");
});

test("hundreds of APIs need few rows in the document", async () => {
  const many = Array.from({ length: 200 }, (_, i) => {
    const crd = structuredClone(WIDGETS);
    const [singular, kind] = [`item${i}`, `Item${i}`];
    crd.metadata.name = `${singular}s.many.example.com`;
    crd.spec.group = "many.example.com";
    crd.spec.names = { plural: `${singular}s`, singular, kind };
    crd.spec.versions = [{ ...crd.spec.versions[0], schema: { openAPIV3Schema: { type: "object" } }, additionalPrinterColumns: undefined }];
    return crd;
  });
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  for (let from = 0; from < many.length; from += 20) await Promise.all(many.slice(from, from + 20).map((crd) => create(path, crd)));
  await page.getByRole("button", { name: "Reload" }).click();
  await page.getByRole("button", { name: "Custom (202)" }).click();
  const region = page.getByRole("region", { name: "APIs" });
  await page.getByRole("link", { name: "Item0", exact: true }).waitFor();
  assert.ok((await region.locator("tbody tr").count()) < 100);
  await page.getByRole("row", { name: /^Item0 .* no rules/ }).waitFor();
  assert.equal(await page.getByRole("link", { name: "Widget", exact: true }).count(), 0, "below what is in sight");
  await region.evaluate((element) => element.scrollTo(0, element.scrollHeight));
  await page.getByRole("link", { name: "Widget", exact: true }).waitFor();
  const heights = await region.locator("tbody tr:not(.space)").evaluateAll((rows) => [...new Set(rows.map((row) => Math.round(row.getBoundingClientRect().height)))]);
  assert.deepEqual(heights, [33]);
  await looked("many");
  await Promise.all(many.map((crd) => api(server, "DELETE", `${path}/${crd.metadata.name}`)));
  // They go in the background.
  while ((await api(server, "GET", path)).items.length > 2) await new Promise((resolve) => setTimeout(resolve, 100));
  await page.getByRole("button", { name: "Reload" }).click();
  await page.getByRole("button", { name: "Custom (2)" }).waitFor();
});

test("keys move and help", async () => {
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  await page.getByRole("heading", { name: "Keys" }).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  assert.equal(await page.evaluate(() => document.activeElement?.hasAttribute("data-row")), true);
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await page.getByRole("heading", { name: "Server", exact: true }).waitFor();
});

test("objects are a live table", async () => {
  await at(objects);
  await page.getByRole("link", { name: "first" }).waitFor();
  await page.getByRole("columnheader", { name: "Color" }).waitFor();
  await createWidget(widget("second", { size: 9, color: "green" }, { labels: { tier: "db" } }));
  await page.getByRole("link", { name: "second" }).waitFor();
  const metrics = await send(`${server.url}/metrics`, { headers: { Authorization: `Bearer ${TOKEN}` } });
  assert.match(metrics.text, /apiserver_longrunning_requests\{group="shop\.example\.com",resource="widgets",verb="WATCH",version="v1"\} 1\n/);
  assert.match(metrics.text, /apiserver_resource_objects\{group="shop\.example\.com",resource="widgets"\} 2\n/);
  await api(server, "DELETE", `/apis/${GROUP}/v1/namespaces/default/widgets/second`);
  await page.getByRole("link", { name: "second" }).waitFor({ state: "detached" });
  await createWidget(widget("second", { size: 9, color: "green" }, { labels: { tier: "db" } }));
  await page.getByLabel("Label selector").fill("tier=db");
  await page.getByRole("button", { name: "Select" }).click();
  await page.getByRole("link", { name: "first" }).waitFor({ state: "detached" });
  await page.getByRole("link", { name: "second" }).waitFor();
  await page.getByLabel("Label selector").fill("");
  await page.getByRole("button", { name: "Select" }).click();
  await page.getByRole("button", { name: "Size" }).click();
  await page.getByRole("button", { name: "Size" }).click();
  await page.getByRole("columnheader", { name: /Size ↓/ }).waitFor();
  assert.deepEqual(await page.locator("td a[data-row]").allTextContents(), ["second", "first"]);
  await looked("objects");
});

test("thousands of objects need few rows in the document, and stay smooth while they change", async () => {
  const names = Array.from({ length: ROWS }, (_, i) => `many-${String(i).padStart(5, "0")}`);
  for (let from = 0; from < names.length; from += 50) await Promise.all(names.slice(from, from + 50).map((name) => createWidget(widget(name))));
  await at("#/");
  await at(objects);
  await page.getByText(`of ${(ROWS + 2).toLocaleString("en-US")}`).waitFor();
  const region = page.getByRole("region", { name: "Widget objects" });
  await region.evaluate((element) => element.scrollTo(0, element.scrollHeight));
  await page.getByRole("link", { name: "second" }).waitFor();
  assert.ok((await page.locator("tbody tr").count()) < 120);
  await region.evaluate((element) => element.scrollTo(0, 0));
  await page.getByRole("link", { name: "many-00001" }).waitFor();
});

/** Has the list of widgets answered with so many rows, page by page; the watch is the server's. Returns the limits of the
 * pages that were asked for. */
async function listRows(total) {
  const path = `/apis/${GROUP}/v1/namespaces/default/widgets`;
  const table = await api(server, "GET", `${path}?limit=1`, undefined, { Accept: "application/json;as=Table;g=meta.k8s.io;v=v1" });
  const [{ cells, object }] = table.rows;
  const row = (i) => {
    const name = `many-${String(i).padStart(5, "0")}`;
    const own = cells.map((cell, n) => (n === 0 ? name : table.columnDefinitions[n].name === "Size" ? 1 + (i % 40) : cell));
    return { cells: own, object: { ...object, metadata: { ...object.metadata, name } } };
  };
  const pages = [];
  await page.route(/\/widgets\?(.*&)?limit=/, (route) => {
    const query = new URL(route.request().url()).searchParams;
    const [from, limit] = [Number(query.get("continue") ?? 0), Number(query.get("limit"))];
    const to = Math.min(from + limit, total);
    pages.push(limit);
    const metadata = { resourceVersion: table.metadata.resourceVersion, ...(to < total && { continue: String(to), remainingItemCount: total - to }) };
    const rows = Array.from({ length: to - from }, (_, i) => row(from + i));
    return route.fulfill({ json: { ...table, metadata, rows } });
  });
  return pages;
}

test("a table of 10,000 rows changes only what is seen", async () => {
  const total = 10_000;
  const pages = await listRows(total);
  await at("#/");
  await at(objects);
  const region = page.getByRole("region", { name: "Widget objects" });
  // All of them are there when the last one has been seen.
  while (pages.length < 6) await region.evaluate((element) => element.scrollTo(0, element.scrollHeight));
  await page.getByText(`${total.toLocaleString("en-US")} of ${total.toLocaleString("en-US")}`).waitFor();
  await region.evaluate((element) => element.scrollTo(0, 0));
  await page.getByRole("link", { name: "many-00001" }).waitFor();
  // A hundred updates per second for two seconds: what frames take is printed, what they change is bounded.
  const frames = page.evaluate(
    () =>
      new Promise((resolve) => {
        const times = [];
        let changes = 0;
        new MutationObserver((records) => (changes += records.length)).observe(document.querySelector("tbody"), { subtree: true, childList: true, characterData: true, attributes: true });
        let last = performance.now();
        const end = last + 2_500;
        const frame = (now) => {
          times.push(now - last);
          last = now;
          if (now < end) requestAnimationFrame(frame);
          else resolve({ times: times.sort((a, b) => a - b), changes });
        };
        requestAnimationFrame(frame);
      }),
  );
  const merge = { Authorization: `Bearer ${TOKEN}`, "Content-Type": "application/merge-patch+json" };
  for (let i = 0; i < 200; i++) {
    const path = `/apis/${GROUP}/v1/namespaces/default/widgets/many-${String(i).padStart(5, "0")}`;
    void send(server.url + path, { method: "PATCH", headers: merge, body: JSON.stringify({ spec: { size: 50 } }) });
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const { times, changes } = await frames;
  console.log(`frames during 100 updates/s of ${total} rows: median ${times[times.length >> 1].toFixed(1)} ms, longest ${times.at(-1).toFixed(0)} ms, ${changes} changes in the document`);
  await page.getByRole("row", { name: /many-00001 50/ }).waitFor();
  const rows = await page.locator("tbody tr").count();
  assert.ok(rows < 120, `${rows} rows`);
  // Each row in sight changes once or twice; the other rows and the thousands out of sight change nothing.
  assert.ok(changes <= 5 * rows, `${changes} changes in ${rows} rows`);
  await page.unrouteAll();
});

test("a table of 100,000 objects is loaded page by page", async () => {
  const total = 100_000;
  const pages = await listRows(total);
  await at("#/");
  await at(objects);
  await page.getByText(`500 of ${total.toLocaleString("en-US")}`).waitFor();
  assert.deepEqual(pages, [500], "no page that is not looked at");
  await page.getByRole("button", { name: "Size" }).click();
  await page.getByText(`${total.toLocaleString("en-US")} of ${total.toLocaleString("en-US")}`).waitFor({ timeout: 120_000 });
  // A sort begins the table anew: its first page, and all others.
  assert.deepEqual([pages.length, Math.max(...pages)], [2 + Math.ceil((total - 500) / 2_000), 2_000]);
  const sizes = await page.locator("tbody tr td.number").allTextContents();
  assert.ok(sizes.length < 120 && sizes.every((size) => size === "1"), `${sizes}`);
  await page.unrouteAll();
});

test("an object has YAML by owner, a tree, owners of fields, events and history", async () => {
  await at(object("first"));
  await page.getByText("size: 3").waitFor();
  assert.ok((await page.locator(".yaml-line[data-owner]").count()) > 3, "lines are painted by owner");
  await api(server, "PUT", `/apis/${GROUP}/v1/namespaces/default/widgets/first?fieldManager=other`, {
    ...(await api(server, "GET", `/apis/${GROUP}/v1/namespaces/default/widgets/first`)),
    spec: { size: 4, color: "green", parts: [{ name: "a", count: 1 }] },
  });
  await page.getByText("size: 4").waitFor();
  await page.getByRole("button", { name: "other" }).waitFor();
  await looked("object");
  await at(object("first", "tree"));
  await page.getByText("parts").waitFor();
  await at(object("first", "fields"));
  await page.getByRole("rowheader", { name: "spec.size" }).waitFor();
  await axe("fields");
  await at(object("first", "events"));
  await page.getByText("No events about first").waitFor();
  await at(object("first", "history"));
  await page.locator(".diff-line[data-mark='+']").filter({ hasText: "size: 4" }).first().waitFor();
  await looked("history");
});

test("history shows the newest versions of many", async () => {
  const path = `/apis/${GROUP}/v1/namespaces/default/widgets/first`;
  const { metadata: _, ...first } = await api(server, "GET", path);
  await createWidget({ ...first, metadata: { name: "often" } });
  const often = path.replace("first", "often");
  const merge = { Authorization: `Bearer ${TOKEN}`, "Content-Type": "application/merge-patch+json" };
  for (let i = 0; i < 210; i++) await send(server.url + often, { method: "PATCH", headers: merge, body: JSON.stringify({ spec: { note: `change ${i}` } }) });
  await at(object("often", "history"));
  await page.getByText("The newest 200 are shown.").waitFor();
  await page.locator("details").first().locator(".diff-line[data-mark='+']").filter({ hasText: "change 209" }).waitFor();
  const { metadata } = await api(server, "GET", often);
  assert.match(await page.locator("summary").first().textContent(), new RegExp(`Version ${metadata.resourceVersion}`));
  assert.equal(await page.locator("summary").count(), 200);
  await api(server, "DELETE", often);
});

test("owners and dependents are found", async () => {
  const { metadata } = await api(server, "GET", `/apis/${GROUP}/v1/namespaces/default/widgets/first`);
  const ownerReferences = [{ apiVersion: `${GROUP}/v1`, kind: "Widget", name: "first", uid: metadata.uid }];
  await create("/api/v1/namespaces/default/configmaps", { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "owned", ownerReferences } });
  // Two levels, and more dependents than a page of a list has room for.
  const owned = await api(server, "GET", "/api/v1/namespaces/default/configmaps/owned");
  const below = [{ apiVersion: "v1", kind: "ConfigMap", name: "owned", uid: owned.metadata.uid }];
  await create("/api/v1/namespaces/default/secrets", { apiVersion: "v1", kind: "Secret", metadata: { name: "below", ownerReferences: below } });
  await at(object("first", "related"));
  await page.getByRole("button", { name: "Search for dependents" }).click();
  await page.getByRole("link", { name: "Secret below" }).waitFor();
  assert.equal(await page.locator(".dependents .dependents a").count(), 1);
  const [, read] = /^([\d,]+) objects were read\.$/.exec(await page.getByText(/objects were read/).textContent());
  assert.ok(Number(read.replace(",", "")) > ROWS, "the widgets take several pages");
  await looked("dependents");
  await page.getByRole("link", { name: "ConfigMap owned" }).click();
  await page.getByRole("heading", { name: "owned" }).waitFor();
  await page.getByRole("link", { name: "Owners and dependents" }).click();
  await page.getByRole("link", { name: /Widget first/ }).waitFor();
  await axe("related");
});

/** Replaces the text of an editor. */
async function type(label, text) {
  await page.evaluate((text) => navigator.clipboard.writeText(text), text);
  await page.getByLabel(label).click();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.press("ControlOrMeta+v");
}

test("objects are created, edited with checks and a dry run, and deleted", async () => {
  await at(objects);
  await page.getByRole("button", { name: "Create…" }).click();
  await page.getByText("my-widget").first().waitFor();
  await type("The object in YAML", `apiVersion: ${GROUP}/v1\nkind: Widget\nmetadata:\n  name: my-widget\nspec:\n  size: 3\n`);
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByRole("heading", { name: "my-widget" }).waitFor();
  await page.getByText("size: 3").waitFor();
  await page.keyboard.press("e");
  await page.getByRole("heading", { name: "Edit my-widget" }).waitFor();
  const stored = await api(server, "GET", `/apis/${GROUP}/v1/namespaces/default/widgets/my-widget`);
  const text = (size) => `apiVersion: ${GROUP}/v1\nkind: Widget\nmetadata:\n  name: my-widget\n  namespace: default\n  resourceVersion: "${stored.metadata.resourceVersion}"\nspec:\n  size: ${size}\n`;
  await type("The object in YAML", text(0));
  await page.getByText("1 error").waitFor();
  await page.getByRole("button", { name: "Dry run" }).click();
  await page.getByText("should be greater than or equal to 1").first().waitFor();
  await looked("edit");
  await type("The object in YAML", text(7));
  await page.getByRole("button", { name: "Dry run" }).click();
  await page.getByText("The server would accept this.").waitFor();
  const mine = `/apis/${GROUP}/v1/namespaces/default/widgets/my-widget`;
  const merge = { Authorization: `Bearer ${TOKEN}`, "Content-Type": "application/merge-patch+json" };
  const elsewhere = (spec) => send(server.url + mine, { method: "PATCH", headers: merge, body: JSON.stringify({ spec }) });
  // Changes of others to other fields stay, and nothing is asked.
  await elsewhere({ note: "from elsewhere", parts: [{ name: "b" }] });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Merge with the newest version" }).click();
  await page.getByRole("listitem").filter({ hasText: "spec.note: from elsewhere" }).waitFor();
  // Changes to the same field are the user's to decide.
  await elsewhere({ size: 20, note: "again" });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Merge with the newest version" }).click();
  const conflict = page.getByRole("group", { name: "spec.size" });
  await conflict.waitFor();
  assert.equal(await page.getByRole("group").count(), 1, "spec.note is no conflict: only others changed it since");
  assert.equal(await page.getByRole("button", { name: "Use these values" }).isDisabled(), true);
  assert.equal(await page.getByRole("button", { name: "Save" }).isDisabled(), true);
  await looked("conflicts");
  await conflict.getByLabel(/Theirs/).check();
  await page.getByRole("button", { name: "Use these values" }).click();
  await page.getByRole("listitem").filter({ hasText: "spec.note: again" }).waitFor();
  assert.equal((await api(server, "GET", mine)).spec.size, 20, "nothing is written by a merge");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Widget my-widget updated").waitFor();
  const both = await api(server, "GET", mine);
  assert.deepEqual(both.spec, { color: "red", note: "again", parts: [{ count: 1, name: "b" }], size: 20 });
  await page.keyboard.press("e");
  await page.getByRole("heading", { name: "Edit my-widget" }).waitFor();
  await type("The object in YAML", text(7).replace(/resourceVersion: .*/, `resourceVersion: "${both.metadata.resourceVersion}"`));
  await elsewhere({ size: 21 });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Merge with the newest version" }).click();
  await conflict.getByLabel(/Yours/).check();
  await page.getByRole("button", { name: "Use these values" }).click();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("size: 7").first().waitFor();
  const saved = await api(server, "GET", mine);
  assert.equal(saved.metadata.managedFields.find((entry) => entry.fieldsV1["f:spec"]?.["f:size"]).manager, "pleach-console");
  await page.getByRole("button", { name: "Delete…" }).click();
  await page.getByText("Foreground").waitFor();
  await axe("delete");
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("Widget my-widget deleted").waitFor();
  await assert.rejects(api(server, "GET", `/apis/${GROUP}/v1/namespaces/default/widgets/my-widget`), /404/);
});

test("objects are created in the namespace that is chosen or that their text names", async () => {
  await create("/api/v1/namespaces", { metadata: { name: "team" } });
  await create("/api/v1/namespaces", { metadata: { name: "other" } });
  await at(`${objects}?ns=team`);
  await page.getByRole("button", { name: "Create…" }).click();
  await page.getByText("namespace: team").first().waitFor();
  const text = (metadata) => `apiVersion: ${GROUP}/v1\nkind: Widget\nmetadata: ${metadata}\nspec: {size: 3}\n`;
  await type("The object in YAML", text('{name: flow, "namespace": "other"} # in another one'));
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByRole("heading", { name: "flow" }).waitFor();
  await api(server, "GET", `/apis/${GROUP}/v1/namespaces/other/widgets/flow`);
  await at(`${objects}?ns=team`);
  await page.getByRole("button", { name: "Create…" }).click();
  await page.getByText("namespace: team").first().waitFor();
  await type("The object in YAML", text("{name: flow}"));
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByRole("heading", { name: "flow" }).waitFor();
  await api(server, "GET", `/apis/${GROUP}/v1/namespaces/team/widgets/flow`);
});

test("edits are checked against the object that is stored", async () => {
  await createWidget(widget("noted", { note: "final" }));
  await at(object("noted"));
  await page.getByText("note: final").waitFor();
  await page.keyboard.press("e");
  await page.getByRole("heading", { name: "Edit noted" }).waitFor();
  const text = (note) => `apiVersion: ${GROUP}/v1\nkind: Widget\nmetadata: {name: noted, namespace: default}\nspec: {size: 3, color: red, note: ${note}}\n`;
  await type("The object in YAML", text("another"));
  await page.getByText("1 error").waitFor();
  await type("The object in YAML", text("final"));
  await page.getByText("1 error").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Cancel" }).click();
});

test("the schema is explored, compared and sampled", async () => {
  await at(`#/schema/widgets.${GROUP}`);
  await page.getByText("one of").first().waitFor();
  await page.getByText("blue ones are small").waitFor();
  for (const said of ["that name is taken", "each item: ≥ 2", "each value: at most 20 characters", "no tag is x", 'any of: requires size | color: (one of "red")']) {
    await page.getByText(said).waitFor();
  }
  await page.getByRole("link", { name: "sizes" }).click();
  await page.getByText("each item: One of its sizes.").waitFor();
  await page.getByLabel("Search fields").fill("large");
  await page.getByText("How large it is.").waitFor();
  assert.equal(await page.getByRole("link", { name: "color" }).count(), 0);
  await page.getByLabel("Search fields").fill("");
  await page.getByRole("link", { name: "size", exact: true }).click();
  assert.match(page.url(), /field=spec.size/);
  await page.getByRole("combobox").selectOption("v1beta1");
  await page.locator(".tag[data-severity=breaking]").first().waitFor();
  await looked("schema");
  await page.getByRole("button", { name: "Show an object" }).first().click();
  await page.getByRole("heading", { name: "Accepted in v1beta1" }).waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Full sample" }).click();
  await page.getByRole("heading", { name: "Full sample" }).waitFor();
  await page.getByRole("button", { name: "Copy" }).click();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /kind: Widget/);
});

test("the playground checks texts, and its state is in the link", async () => {
  await at("#/playground");
  await page.getByText("many replicas run on the hour").first().waitFor();
  await page.getByText("pruned: not in the schema").first().waitFor();
  await page.getByText("Checked in your browser; nothing is sent.").waitFor();
  assert.deepEqual(requests.filter((url) => url.endsWith("/console/engine")), [], "the server's engine was not asked");
  await looked("playground");
  await page.getByRole("button", { name: "Rules" }).click();
  await page.getByText("The schema is structural.").waitFor();
  for (const name of ["OpenAPI", "Skeleton", "Expanded"]) {
    await page.getByRole("button", { name }).click();
    await page.locator("pre.block").filter({ hasText: "stable.example.com" }).waitFor();
  }
  await page.getByRole("button", { name: "Stored" }).click();
  await type("Objects in YAML", "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata: {name: a}\nspec: {cronSpec: '0 3 * * *'}\n");
  await page.getByText("The server would accept these objects.").waitFor();
  await page.getByRole("button", { name: "Copy link" }).click();
  await page.waitForFunction(() => location.hash.length > 100);
  const link = page.url();
  await page.goto("about:blank");
  await page.goto(link);
  await page.getByText("The server would accept these objects.").waitFor();
});

test("without WebAssembly the playground asks the server, and says so", async () => {
  const other = await newContext();
  const own = await newPage(other);
  await other.route(/\.wasm$/, (route) => route.abort());
  const tried = other.waitForEvent("requestfailed", { predicate: (request) => request.url().endsWith(".wasm") });
  await own.goto(await signInLink(server));
  await own.getByRole("heading", { name: "APIs" }).waitFor();
  await own.goto(`${server.url}/console/#/playground`);
  await own.getByText("many replicas run on the hour").first().waitFor();
  await own.getByText("Checked by the server; nothing is kept.").waitFor();
  await tried;
  await other.close();
});

test("only the worker of the engine may compile WebAssembly", async () => {
  const policyOf = async (path) => (await send(`${server.url}/console/${path}`)).headers["content-security-policy"];
  const worker = requests.find((url) => url.includes("engine.worker"));
  assert.ok(worker, "the engine was loaded");
  assert.equal((await policyOf(worker.split("/console/")[1])).match(/script-src [^;]*/)[0], "script-src 'wasm-unsafe-eval'");
  assert.equal((await policyOf("")).match(/script-src [^;]*/)[0], "script-src 'self'");
  assert.equal(requests.filter((url) => url.endsWith(".wasm")).length >= 1, true);
});

test("the server page has figures and rights", async () => {
  const admission = "/apis/admissionregistration.k8s.io/v1";
  const rules = [{ apiGroups: [GROUP], apiVersions: ["*"], operations: ["CREATE", "UPDATE"], resources: ["widgets"] }];
  await create(`${admission}/validatingadmissionpolicies`, { apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingAdmissionPolicy", metadata: { name: "small-ones" }, spec: { failurePolicy: "Fail", matchConstraints: { resourceRules: rules }, validations: [{ expression: "object.spec.size < 90" }] } });
  await create(`${admission}/validatingadmissionpolicybindings`, { apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingAdmissionPolicyBinding", metadata: { name: "small-ones" }, spec: { policyName: "small-ones", validationActions: ["Deny"] } });
  // Nobody listens there: the call fails, which its failure policy ignores.
  const hook = { name: "nobody.example.com", clientConfig: { url: "https://127.0.0.1:1/" }, rules, failurePolicy: "Ignore", sideEffects: "None", admissionReviewVersions: ["v1"], timeoutSeconds: 1 };
  await create(`${admission}/validatingwebhookconfigurations`, { apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration", metadata: { name: "nobody" }, webhooks: [hook] });
  await assert.rejects(createWidget(widget("too-large", { size: 95 })), /small-ones/);
  await createWidget(widget("small-enough"));
  const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
  await create(`${rbac}/roles`, { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata: { name: "see" }, rules: [{ apiGroups: [GROUP], resources: ["widgets"], verbs: ["get"] }] });
  await create(`${rbac}/rolebindings`, { apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding", metadata: { name: "see" }, roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "see" }, subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "eve" }] });
  await at("#/server");
  await page.getByText("Objects in the store").waitFor();
  await page.getByRole("heading", { name: "What admin may do" }).waitFor();
  await page.locator(".matrix").getByRole("rowheader", { name: "configmaps" }).waitFor();
  await page.getByText("events since revision").waitFor();
  const card = (title) => page.locator(".card").filter({ has: page.getByRole("heading", { name: title, exact: true }) }).locator(".figure");
  assert.match(await card("History").textContent(), /^[1-9][\d,]*$/);
  // Seats and queues of API Priority and Fairness.
  await page.getByRole("row", { name: /^workload-low / }).waitFor();
  await page.getByLabel("Kind").selectOption(`widgets.${GROUP}`);
  const matrix = page.getByRole("table", { name: "Users and verbs" });
  await matrix.getByRole("row", { name: /Group system:masters( yes){7}/ }).waitFor();
  await matrix.getByRole("row", { name: /User eve yes( no){6}/ }).waitFor();
  const cells = async (name) => (await page.getByRole("row", { name }).locator("td").allTextContents()).map((text) => text.trim());
  const policy = await cells(/^small-ones validating/);
  assert.deepEqual([policy[0], policy[1], policy[3], policy[6], policy[8]], ["validating", "small-ones (Deny)", "2", "1", "0"], String(policy));
  const called = await cells(/^nobody\.example\.com/);
  assert.deepEqual([called[0], called[5], called[8], called[9]], ["validating", "1", "0", "1"], String(called));
  await looked("server");
  await api(server, "DELETE", `${admission}/validatingwebhookconfigurations/nobody`);
  await api(server, "DELETE", `${admission}/validatingadmissionpolicies/small-ones`);
});

test("an object with HTML in every string does nothing", async () => {
  await create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", HOSTILE);
  const made = await create("/apis/hostile.example.com/v1/namespaces/default/traps", TRAP);
  await create("/api/v1/namespaces/default/events", trapEvent(made.metadata.uid));
  const pages = ["#/", "#/objects/hostile.example.com/v1/traps", "#/schema/traps.hostile.example.com", "#/objects/core/v1/events"];
  for (const tab of ["yaml", "tree", "fields", "events", "related", "history"]) pages.push(`#/object/hostile.example.com/v1/traps/default/trap?tab=${tab}`);
  for (const hash of pages) {
    await page.goto("about:blank");
    await at(hash);
    await page.getByText(/onerror|Trap/).first().waitFor();
    await page.waitForTimeout(150);
    assert.equal(await page.evaluate(() => window.hacked), undefined, hash);
    assert.equal(await page.locator("main img[src=x], main script, main svg[onload]").count(), 0, hash);
    for (const href of await page.locator("main a").evaluateAll((links) => links.map((link) => link.getAttribute("href")))) assert.match(href, /^#/, hash);
  }
});

test("numbers keep their digits", async () => {
  const path = "/apis/hostile.example.com/v1/namespaces/default/traps";
  const headers = { Authorization: `Bearer ${TOKEN}`, "Content-Type": "application/json" };
  const body = '{"apiVersion":"hostile.example.com/v1","kind":"Trap","metadata":{"name":"precise"},"spec":{"text":"x","big":9007199254740993,"items":[-9223372036854775807,0.1,3]}}';
  assert.equal((await send(server.url + path, { method: "POST", headers, body })).status, 201);
  const of = (tab) => `#/object/hostile.example.com/v1/traps/default/precise?tab=${tab}`;
  await at(of("yaml"));
  await page.getByText("big: 9007199254740993").waitFor();
  await page.getByText("- -9223372036854775807").waitFor();
  await page.getByText("- 0.1").waitFor();
  await at(of("tree"));
  await page.locator(".leaf").filter({ hasText: "9007199254740993" }).waitFor();
  await at(of("yaml"));
  await page.keyboard.press("e");
  const editor = page.getByLabel("The object in YAML");
  await editor.getByText("9007199254740993").waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Trap precise updated").waitFor();
  assert.match((await send(`${server.url}${path}/precise`, { headers })).text, /"big":9007199254740993,"items":\[-9223372036854775807,0\.1,3\]/);
});

test("users see what they may see", async () => {
  const csr = await create("/api/v1/namespaces/default/serviceaccounts", { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "reader" } });
  const token = await create(`/api/v1/namespaces/default/serviceaccounts/${csr.metadata.name}/token`, { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3600 } });
  const other = await newContext();
  const own = await newPage(other);
  await own.goto(`${server.url}/console/`);
  await own.getByLabel("Bearer token").fill(token.status.token);
  await own.getByRole("button", { name: "Sign in" }).click();
  await own.getByText("system:serviceaccount:default:reader", { exact: true }).waitFor();
  await own.getByText("You may not see this").first().waitFor();
  // A token that ends takes its sessions with it.
  await api(server, "DELETE", "/api/v1/namespaces/default/serviceaccounts/reader");
  await own.reload();
  await own.getByLabel("Bearer token").waitFor();
  await other.close();
});

test("signing out ends the session", async () => {
  await at("#/");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Bearer token").waitFor();
  await page.reload();
  await page.getByLabel("Bearer token").waitFor();
});

test("nothing serious keeps people with a keyboard, a reader or a small screen out", () => {
  assert.deepEqual(obstacles, []);
});

test("no page asked elsewhere, failed or broke the policy", () => {
  const elsewhere = requests.filter((url) => !url.startsWith(`${server.url}/console/`) && !url.startsWith("about:") && !url.startsWith("data:"));
  assert.deepEqual(elsewhere, []);
  assert.deepEqual(problems, []);
});
