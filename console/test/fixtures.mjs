// CRDs and objects of the tests.

export const GROUP = "shop.example.com";

const properties = {
  spec: {
    type: "object",
    description: "What is wanted.",
    required: ["size"],
    properties: {
      size: { type: "integer", minimum: 1, maximum: 100, description: "How large it is." },
      color: { type: "string", enum: ["red", "green", "blue"], default: "red" },
      parts: {
        type: "array",
        maxItems: 50,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        items: { type: "object", required: ["name"], properties: { name: { type: "string", maxLength: 63 }, count: { type: "integer", default: 1 } } },
      },
      note: { type: "string", "x-kubernetes-validations": [{ rule: "oldSelf != 'final' || self == 'final'", message: "a final note stays" }] },
      sizes: { type: "array", maxItems: 5, items: { type: "integer", minimum: 2, description: "One of its sizes." } },
      tags: { type: "object", maxProperties: 5, additionalProperties: { type: "string", maxLength: 20, "x-kubernetes-validations": [{ rule: "self != 'x'", message: "no tag is x" }] } },
    },
    anyOf: [{ required: ["size"] }, { properties: { color: { enum: ["red"] } } }],
    "x-kubernetes-validations": [
      { rule: "self.color != 'blue' || self.size < 10", message: "blue ones are small" },
      { rule: "!has(self.parts) || self.parts.all(p, p.name != '')", message: "parts have names" },
    ],
  },
  status: { type: "object", properties: { ready: { type: "boolean" } } },
};

const older = structuredClone(properties);
older.spec.properties.size.maximum = 1000;
delete older.spec.properties.note;

export const WIDGETS = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `widgets.${GROUP}` },
  spec: {
    group: GROUP,
    scope: "Namespaced",
    names: { plural: "widgets", singular: "widget", kind: "Widget", shortNames: ["wd"] },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: [
          { name: "Size", type: "integer", jsonPath: ".spec.size" },
          { name: "Color", type: "string", jsonPath: ".spec.color" },
          { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
        ],
        schema: { openAPIV3Schema: { type: "object", properties, "x-kubernetes-validations": [{ rule: "self.metadata.name != 'taken'", message: "that name is taken" }] } },
      },
      { name: "v1beta1", served: true, storage: false, deprecated: true, schema: { openAPIV3Schema: { type: "object", properties: older } } },
    ],
  },
};

export function widget(name, spec = {}, metadata = {}) {
  return { apiVersion: `${GROUP}/v1`, kind: "Widget", metadata: { name, ...metadata }, spec: { size: 3, ...spec } };
}

const HTML = '"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script><svg onload=window.hacked=1>{{7*7}}${window.hacked=1}';

/** Markup in every string that a CRD takes. */
export const HOSTILE = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "traps.hostile.example.com", annotations: { note: HTML } },
  spec: {
    group: "hostile.example.com",
    scope: "Namespaced",
    names: { plural: "traps", singular: "trap", kind: "Trap" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        deprecated: true,
        deprecationWarning: HTML.slice(0, 200),
        additionalPrinterColumns: [{ name: HTML, type: "string", jsonPath: ".spec.text", description: HTML }],
        schema: {
          openAPIV3Schema: {
            type: "object",
            description: HTML,
            properties: {
              spec: {
                type: "object",
                description: HTML,
                "x-kubernetes-preserve-unknown-fields": true,
                properties: {
                  text: { type: "string", description: HTML, default: HTML, enum: [HTML, "x"] },
                  [HTML]: { type: "string", description: HTML },
                },
                "x-kubernetes-validations": [{ rule: "true", message: HTML }],
              },
            },
          },
        },
      },
    ],
  },
};

export const TRAP = {
  apiVersion: "hostile.example.com/v1",
  kind: "Trap",
  metadata: { name: "trap", annotations: { a: HTML, b: "javascript:window.hacked=1" }, finalizers: ["example.com/wait"], ownerReferences: [{ apiVersion: "v1", kind: HTML, name: HTML, uid: HTML }] },
  spec: { text: HTML, [HTML]: HTML, more: { [HTML]: [HTML, { [HTML]: HTML }] }, lines: `${HTML}\n${HTML}\n` },
};

export function trapEvent(uid) {
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: "trap.1", namespace: "default" },
    involvedObject: { apiVersion: "hostile.example.com/v1", kind: "Trap", name: "trap", namespace: "default", uid },
    reason: HTML,
    message: HTML,
    type: "Warning",
    source: { component: HTML },
  };
}
