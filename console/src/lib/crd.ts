// CustomResourceDefinitions as the API returns them.

import type { CustomResourceDefinition, CustomResourceDefinitionSpec, CustomResourceDefinitionVersion, JSONSchemaProps, ValidationRule } from "../generated/openapi";
import type { ObjectMeta } from "./api";

export type Rule = ValidationRule;

type Nested = "additionalProperties" | "allOf" | "anyOf" | "items" | "not" | "oneOf" | "properties";

/** A schema. Those of CRDs have one schema for all items. */
export interface Schema extends Omit<JSONSchemaProps, Nested> {
  additionalProperties?: Schema | boolean;
  allOf?: Schema[];
  anyOf?: Schema[];
  items?: Schema;
  not?: Schema;
  oneOf?: Schema[];
  properties?: Record<string, Schema>;
}

export type CrdVersion = Omit<CustomResourceDefinitionVersion, "schema"> & { schema?: { openAPIV3Schema?: Schema } };

export type Crd = Omit<CustomResourceDefinition, "metadata" | "spec"> & {
  metadata: ObjectMeta;
  spec: Omit<CustomResourceDefinitionSpec, "versions"> & { versions: CrdVersion[] };
};

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
