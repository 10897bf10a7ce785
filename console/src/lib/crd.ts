// CustomResourceDefinitions as the API returns them.

import type { ObjectMeta } from "./api";

export interface Schema {
  type?: string;
  format?: string;
  title?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  required?: string[];
  nullable?: boolean;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: boolean;
  exclusiveMaximum?: boolean;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  minProperties?: number;
  maxProperties?: number;
  multipleOf?: number;
  pattern?: string;
  uniqueItems?: boolean;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  not?: Schema;
  "x-kubernetes-validations"?: Rule[];
  "x-kubernetes-list-type"?: string;
  "x-kubernetes-list-map-keys"?: string[];
  "x-kubernetes-map-type"?: string;
  "x-kubernetes-preserve-unknown-fields"?: boolean;
  "x-kubernetes-int-or-string"?: boolean;
  "x-kubernetes-embedded-resource"?: boolean;
}

export interface Rule {
  rule: string;
  message?: string;
  messageExpression?: string;
  reason?: string;
  fieldPath?: string;
}

export interface CrdVersion {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  schema?: { openAPIV3Schema?: Schema };
  subresources?: { status?: unknown; scale?: unknown };
}

export interface Crd {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  spec: {
    group: string;
    scope: string;
    names: { plural: string; singular?: string; kind: string; listKind?: string; shortNames?: string[]; categories?: string[] };
    versions: CrdVersion[];
    conversion?: { strategy?: string };
    preserveUnknownFields?: boolean;
  };
  status?: {
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
    storedVersions?: string[];
    acceptedNames?: { plural?: string };
  };
}

export interface CrdList {
  items: Crd[];
}

/** The conditions of a CRD in words; the bad ones first. */
export function conditionWords(crd: Crd): { text: string; bad: boolean; why: string }[] {
  const conditions = crd.status?.conditions ?? [];
  const out: { text: string; bad: boolean; why: string }[] = [];
  const of = (type: string) => conditions.find((c) => c.type === type);
  const why = (type: string) => of(type)?.message ?? "";
  if (of("NamesAccepted")?.status === "False") out.push({ text: "names taken", bad: true, why: why("NamesAccepted") });
  if (of("NonStructuralSchema")?.status === "True") out.push({ text: "not structural", bad: true, why: why("NonStructuralSchema") });
  if (of("KubernetesAPIApprovalPolicyConformant")?.status === "False") {
    out.push({ text: "API not approved", bad: true, why: why("KubernetesAPIApprovalPolicyConformant") });
  }
  if (of("Terminating")?.status === "True") out.push({ text: "being deleted", bad: true, why: why("Terminating") });
  if (of("Established")?.status === "True") out.push({ text: "established", bad: false, why: why("Established") });
  else if (out.length === 0) out.push({ text: "not established", bad: true, why: why("Established") });
  return out;
}
