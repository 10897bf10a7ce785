// Starts a real server for the tests of the console, and speaks to its API.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export const TOKEN = "secret-of-the-test";

export async function startServer(binary, flags = []) {
  const home = mkdtempSync(join(tmpdir(), "pleach-console-"));
  const all = ["serve", "--in-memory", "--port", "0", "--token", TOKEN, "--kubeconfig", join(home, "kubeconfig"), "--log-level", "warn", ...flags];
  const child = spawn(binary, all, { stdio: ["ignore", "pipe", "inherit"] });
  const url = await new Promise((resolve, reject) => {
    child.on("exit", (code) => reject(new Error(`the server ended with ${code}`)));
    createInterface(child.stdout).on("line", (line) => {
      const match = /serves at (\S+)/.exec(line);
      if (match) resolve(match[1]);
    });
  });
  return {
    url,
    kubeconfig: join(home, "kubeconfig"),
    stop() {
      child.removeAllListeners("exit");
      child.kill();
      rmSync(home, { recursive: true, force: true });
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

export async function api(server, method, path, object) {
  const headers = { Authorization: `Bearer ${TOKEN}`, "Content-Type": "application/json" };
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
