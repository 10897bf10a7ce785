// Starts a real server for the tests of the console, and speaks to its API.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export const TOKEN = "secret-of-the-test";

export async function startServer(binary, flags = []) {
  const home = mkdtempSync(join(tmpdir(), "pleach-console-"));
  const all = ["serve", "--in-memory", "--port", "0", "--token", TOKEN, "--kubeconfig", join(home, "kubeconfig"), "--log-level", "warn", ...flags];
  const child = spawn(binary, all, { stdio: ["ignore", "pipe", "inherit"] });
  const printed = [];
  const url = await new Promise((resolve, reject) => {
    child.on("exit", (code) => reject(new Error(`the server ended with ${code}`)));
    createInterface(child.stdout).on("line", (line) => {
      printed.push(line);
      const match = /serves at (\S+)/.exec(line);
      if (match) resolve(match[1]);
    });
  });
  return {
    url,
    kubeconfig: join(home, "kubeconfig"),
    printed: () => printed,
    stop() {
      child.removeAllListeners("exit");
      child.kill();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** The lines that `pleach serve` writes to a terminal, until one matches. `script` makes the terminal. */
export async function onTerminal(binary, flags, wanted) {
  const home = mkdtempSync(join(tmpdir(), "pleach-console-"));
  const command = [binary, "serve", "--in-memory", "--port", "0", "--kubeconfig", join(home, "kubeconfig"), "--log-level", "error", ...flags];
  const quoted = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  const child = spawn("script", ["-qefc", quoted, "/dev/null"], { stdio: ["pipe", "pipe", "inherit"] });
  const match = await new Promise((resolve, reject) => {
    child.on("exit", (code) => reject(new Error(`the server ended with ${code}`)));
    createInterface(child.stdout).on("line", (line) => {
      const match = wanted.exec(line);
      if (match) resolve(match);
    });
  });
  return {
    match,
    stop() {
      child.removeAllListeners("exit");
      // As a person would: the interrupt reaches the server through its terminal.
      child.stdin.end("\x03");
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** A proxy that serves a server's console below a path. It passes `Host` on, and knows nothing but the path. */
export async function startProxy(server, prefix) {
  const proxy = createServer((incoming, outgoing) => {
    if (!incoming.url.startsWith(prefix)) {
      outgoing.writeHead(404).end();
      return;
    }
    const { hostname, port } = new URL(server.url);
    const options = { hostname, port, method: incoming.method, path: incoming.url.slice(prefix.length), headers: incoming.headers, rejectUnauthorized: false };
    const passed = request(options, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on("error", () => outgoing.destroy());
    outgoing.on("close", () => passed.destroy());
    incoming.pipe(passed);
  });
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${proxy.address().port}${prefix}`,
    stop() {
      proxy.closeAllConnections();
      proxy.close();
    },
  };
}

/** Starts `pleach console`; the link signs in once. */
export async function startConsole(binary, kubeconfig, flags = []) {
  const child = spawn(binary, ["console", "--kubeconfig", kubeconfig, ...flags], { stdio: ["ignore", "pipe", "inherit"] });
  const link = await new Promise((resolve, reject) => {
    child.on("exit", (code) => reject(new Error(`the console ended with ${code}`)));
    createInterface(child.stdout).on("line", (line) => {
      const match = /^console: (\S+)/.exec(line);
      if (match) resolve(match[1]);
    });
  });
  return {
    link,
    url: link.slice(0, link.indexOf("/console/")),
    stop() {
      child.removeAllListeners("exit");
      child.kill();
    },
  };
}

/** A request over HTTPS; the certificate is the server's own. */
export function send(url, { method = "GET", headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, rejectUnauthorized: false }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (part) => (text += part));
      response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, text }));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

export async function api(server, method, path, object, more = {}) {
  const headers = { Authorization: `Bearer ${TOKEN}`, "Content-Type": "application/json", ...more };
  const answer = await send(server.url + path, { method, headers, body: object && JSON.stringify(object) });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.text ? JSON.parse(answer.text) : null;
}

export async function signInLink(server) {
  const headers = { Authorization: `Bearer ${TOKEN}` };
  const answer = await send(`${server.url}/console/links`, { method: "POST", headers });
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
  return answer.text.trim();
}
