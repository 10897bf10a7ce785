// A small operator with the official client for Node: it writes the status of each greeting.

import fs from "node:fs";
import * as k8s from "@kubernetes/client-node";

const [, , manifest] = process.argv;
const config = new k8s.KubeConfig();
config.loadFromDefault();
const greeting = { group: "example.com", version: "v1", namespace: "default", plural: "greetings" };
const objects = config.makeApiClient(k8s.CustomObjectsApi);
const crds = config.makeApiClient(k8s.ApiextensionsV1Api);

function within(promise, what) {
  const late = new Promise((_, fail) => setTimeout(() => fail(new Error(`not within 30 s: ${what}`)), 30_000).unref());
  return Promise.race([promise, late]);
}

const crd = k8s.loadYaml(fs.readFileSync(manifest, "utf8"));
await crds.createCustomResourceDefinition({ body: crd }).catch((error) => {
  if (error.code !== 409) throw error;
});
for (let established = false; !established; ) {
  const { status } = await crds.readCustomResourceDefinition({ name: crd.metadata.name });
  established = status?.conditions?.some((c) => c.type === "Established" && c.status === "True");
}

const names = ["radia", "frances", "lynn"];
const greeted = new Set();
let deleted;
const isDeleted = new Promise((done) => (deleted = done));
let done;
const areGreeted = new Promise((all) => (done = all));

async function reconcile(object) {
  if (object.status) {
    greeted.add(object.metadata.name);
    if (names.every((name) => greeted.has(name))) done();
    return;
  }
  const body = { ...object, status: { text: `Hello, ${object.metadata.name}` } };
  await objects.replaceNamespacedCustomObjectStatus({ ...greeting, name: object.metadata.name, body });
}

const path = `/apis/${greeting.group}/${greeting.version}/namespaces/${greeting.namespace}/${greeting.plural}`;
const informer = k8s.makeInformer(config, path, () => objects.listNamespacedCustomObject(greeting));
informer.on("add", reconcile);
informer.on("update", reconcile);
informer.on("delete", (object) => deleted(object.metadata.name));
informer.on("error", (error) => { throw error; });
await informer.start();
for (const name of names) {
  const body = { apiVersion: "example.com/v1", kind: "Greeting", metadata: { name } };
  await objects.createNamespacedCustomObject({ ...greeting, body });
}
await within(areGreeted, "three greetings have a status");
const stored = await objects.getNamespacedCustomObject({ ...greeting, name: "radia" });
if (stored.status.text !== "Hello, radia") throw new Error(`the status is stored: ${JSON.stringify(stored)}`);
await objects.deleteNamespacedCustomObject({ ...greeting, name: "radia" });
await within(isDeleted, "the deletion is seen");
await informer.stop();
console.log("client-node: passed");
process.exit(0);
