// `pleach console` before another API server: a real one, in Chromium.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { GROUP, widget, WIDGETS } from "./fixtures.mjs";
import { api, send, startConsole, startServer, TOKEN } from "./server.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const dist = ["--console-dir", join(root, "dist")];
const binary = process.env.PLEACH_BINARY ?? join(root, "../target/debug/pleach");
const executablePath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((path) => existsSync(path));
const own = { "X-Pleach-Console": "1" };

let server, shown, browser, home;

before(async () => {
  home = mkdtempSync(join(tmpdir(), "pleach-console-"));
  server = await startServer(binary, ["--console=false"]);
  await api(server, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", WIDGETS);
  await api(server, "POST", `/apis/${GROUP}/v1/namespaces/default/widgets`, widget("first"));
  shown = await startConsole(binary, server.kubeconfig, dist);
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
});

after(async () => {
  await browser?.close();
  shown?.stop();
  server?.stop();
  rmSync(home, { recursive: true, force: true });
});

/** The cookie of a session that a link began. */
async function signIn(console) {
  const code = console.link.split("/sign-in/")[1];
  const signed = await send(`${console.url}/console/session`, { method: "POST", headers: own, body: JSON.stringify({ code }) });
  assert.equal(signed.status, 200, signed.text);
  return { Cookie: signed.headers["set-cookie"][0].split(";")[0], session: JSON.parse(signed.text) };
}

test("a server with --console=false has no console", async () => {
  for (const path of ["/console", "/console/", "/console/session", "/console/links"]) {
    const answer = await send(server.url + path, { headers: { ...own, Authorization: `Bearer ${TOKEN}` } });
    assert.equal(answer.status, 404, path);
  }
});

test("the page shows the other server's APIs and objects as they change, and offers no writes", async () => {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  await page.goto(shown.link);
  await page.getByRole("heading", { name: "APIs" }).waitFor();
  await page.getByText("read-only").first().waitFor();
  await page.getByText(server.url).waitFor();
  await page.getByText("admin").first().waitFor();
  await page.getByRole("link", { name: "Widget", exact: true }).waitFor();
  await page.goto(`${shown.url}/console/#/objects/${GROUP}/v1/widgets`);
  await page.getByRole("link", { name: "first" }).waitFor();
  assert.equal(await page.getByRole("button", { name: /Create/ }).count(), 0);
  await api(server, "POST", `/apis/${GROUP}/v1/namespaces/default/widgets`, widget("second"));
  await page.getByRole("link", { name: "second" }).click();
  await page.getByText("size: 3").waitFor();
  assert.equal(await page.getByRole("button", { name: /Edit|Delete/ }).count(), 0);
  await page.goto(`${shown.url}/console/#/schema/widgets.${GROUP}`);
  await page.getByText("blue ones are small").waitFor();
  await page.goto(`${shown.url}/console/#/server`);
  await page.getByRole("heading", { name: "What admin may do" }).waitFor();
  await page.locator(".matrix").getByRole("rowheader", { name: "configmaps" }).waitFor();
  await page.goto(`${shown.url}/console/#/playground`);
  await page.getByText("many replicas run on the hour").first().waitFor();
  assert.deepEqual(problems, []);
  // The link was good once.
  const other = await browser.newContext({ ignoreHTTPSErrors: true });
  const second = await other.newPage();
  await second.goto(shown.link);
  await second.getByText("This link was used before").waitFor();
  await other.close();
  await context.close();
});

test("without --writable nothing is written, and other origins, hosts and tokens are refused", async () => {
  const console = await startConsole(binary, server.kubeconfig, dist);
  try {
    const at = (path, options) => send(`${console.url}/console${path}`, options);
    assert.equal((await at("/", { headers: { Host: "evil.example.com" } })).status, 421);
    assert.equal((await at("/k8s/api", { headers: own })).status, 401);
    assert.equal((await at("/session", { method: "POST", headers: own, body: JSON.stringify({ token: TOKEN }) })).status, 401, "only links sign in");
    assert.equal((await at("/links", { method: "POST", headers: { Authorization: `Bearer ${TOKEN}` } })).status, 401);
    const { Cookie, session } = await signIn(console);
    assert.equal(session.readOnly, true);
    assert.equal(session.cluster, server.url);
    const headers = { ...own, Cookie, "Content-Type": "application/json" };
    const widgets = `/k8s/apis/${GROUP}/v1/namespaces/default/widgets`;
    assert.equal((await at(widgets, { headers })).status, 200);
    assert.equal((await at(widgets, { headers: { Cookie } })).status, 403, "a form or image of another page");
    assert.equal((await at(widgets, { headers: { ...headers, Origin: "https://evil.example.com" } })).status, 403);
    const writes = [["POST", ""], ["POST", "?dryRun=All"], ["PUT", "/first"], ["PATCH", "/first"], ["DELETE", "/first"], ["DELETE", ""]];
    for (const [method, rest] of writes) {
      const answer = await at(widgets + rest, { method, headers, ...(method === "DELETE" ? {} : { body: JSON.stringify(widget("third")) }) });
      assert.equal(answer.status, 403, `${method} ${rest}`);
      assert.match(answer.text, /--writable/);
    }
    const review = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: { resourceAttributes: { verb: "get", resource: "pods" } } };
    assert.equal((await at("/k8s/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", { method: "POST", headers, body: JSON.stringify(review) })).status, 201);
    // A page cannot become another user.
    const me = await at("/k8s/apis/authentication.k8s.io/v1/selfsubjectreviews", { method: "POST", headers: { ...headers, "Impersonate-User": "eve" }, body: JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }) });
    assert.equal(JSON.parse(me.text).status.userInfo.username, "admin");
    assert.equal((await send(`${console.url}/api`, { headers })).status, 404, "nothing but the console is served");
  } finally {
    console.stop();
  }
});

test("with --writable the page writes, with the kubeconfig's rights", async () => {
  const kubeconfig = join(home, "reader");
  await api(server, "POST", "/api/v1/namespaces/default/serviceaccounts", { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "reader" } });
  const token = await api(server, "POST", "/api/v1/namespaces/default/serviceaccounts/reader/token", { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} });
  // The same server, with another user's token in a second context.
  const text = readFileSync(server.kubeconfig, "utf8");
  const [, cluster] = /^\s*cluster: (\S+)$/m.exec(text.slice(text.indexOf("contexts:")));
  writeFileSync(kubeconfig, text.replace(/^users:\n/m, `users:\n- name: reader\n  user:\n    token: ${token.status.token}\n`).replace(/^contexts:\n/m, `contexts:\n- name: reading\n  context: {cluster: ${cluster}, user: reader}\n`));
  const admin = await startConsole(binary, kubeconfig, [...dist, "--writable"]);
  const reader = await startConsole(binary, kubeconfig, [...dist, "--writable", "--context", "reading"]);
  try {
    for (const [console, name, want] of [[admin, "admin", 201], [reader, "system:serviceaccount:default:reader", 403]]) {
      const { Cookie, session } = await signIn(console);
      assert.equal(session.user, name);
      assert.equal(session.readOnly, false);
      const headers = { ...own, Cookie, "Content-Type": "application/json" };
      const made = await send(`${console.url}/console/k8s/apis/${GROUP}/v1/namespaces/default/widgets`, { method: "POST", headers, body: JSON.stringify(widget("third")) });
      assert.equal(made.status, want, made.text);
      assert.equal(JSON.parse(made.text).kind, want === 201 ? "Widget" : "Status");
    }
  } finally {
    admin.stop();
    reader.stop();
  }
});

test("credentials of plugins are used, and asked for anew when they have expired", async () => {
  const kubeconfig = join(home, "plugin");
  const token = (text) => writeFileSync(join(home, "token"), text);
  // A plugin as clouds have them: it prints the token that is valid at the moment.
  const plugin = join(home, "plugin.sh");
  writeFileSync(plugin, '#!/bin/sh\necho "$KUBERNETES_EXEC_INFO" | grep -q ExecCredential || exit 1\ncd "$(dirname "$0")"\nprintf \'{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"%s"}}\' "$(cat "$1")"\n', { mode: 0o755 });
  const exec = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin.sh, args: [token]}}";
  writeFileSync(kubeconfig, `current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: '${server.url}', insecure-skip-tls-verify: true}}]\nusers: [{name: u, user: ${exec}}]\n`);
  const account = "/api/v1/namespaces/default/serviceaccounts/passing";
  const newToken = async () => {
    await api(server, "POST", "/api/v1/namespaces/default/serviceaccounts", { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "passing" } });
    return (await api(server, "POST", `${account}/token`, { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} })).status.token;
  };
  token(await newToken());
  const console = await startConsole(binary, kubeconfig, dist);
  try {
    const { Cookie, session } = await signIn(console);
    assert.equal(session.user, "system:serviceaccount:default:passing");
    const read = () => send(`${console.url}/console/k8s/api`, { headers: { ...own, Cookie } });
    assert.equal((await read()).status, 200);
    // The token goes with its account; the plugin has another one soon after.
    await api(server, "DELETE", account);
    token(await newToken());
    for (let i = 0; (await read()).status !== 200; i++) {
      assert.ok(i < 600, "the plugin is asked again");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  } finally {
    console.stop();
  }
});

test("what cannot work says so at once", () => {
  const run = (text) => {
    const path = join(home, "wrong");
    writeFileSync(path, text);
    return spawnSync(binary, ["console", "--kubeconfig", path, ...dist], { encoding: "utf8" });
  };
  const config = (server, user) => `current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: '${server}', insecure-skip-tls-verify: true}}]\nusers: [{name: u, user: ${user}}]\n`;
  for (const [text, want] of [
    [config(server.url, "{token: wrong}"), /the credentials of the kubeconfig are refused/],
    [config("https://127.0.0.1:1", "{token: t}"), /refused/i],
    [config(server.url, "{exec: {command: ./no-such-plugin}}"), /exec: \.\/no-such-plugin: No such file/],
    [config(server.url, "{exec: {command: 'false'}}"), /exec: false: exit status: 1/],
    [config(server.url, "{exec: {command: echo, args: ['{}']}}"), /without token and certificate/],
    [config(server.url, "{as: eve, token: t}"), /the user has as/],
    ["a: [", /wrong/],
  ]) {
    const ended = run(text);
    assert.equal(ended.status, 2, ended.stdout);
    assert.match(ended.stderr, want);
  }
});
