// Types of the API, from the server's OpenAPI documents by scripts/types.mjs. Not edited by hand.

export interface AdmissionregistrationServiceReference {
  name: string;
  namespace: string;
  path?: string;
  port?: number;
}

/** Where it is, by url or by service. */
export interface AdmissionregistrationWebhookClientConfig {
  caBundle?: string;
  service?: AdmissionregistrationServiceReference;
  url?: string;
}

/** A service. */
export interface ApiextensionsServiceReference {
  /** Its name. */
  name: string;
  /** Its namespace. */
  namespace: string;
  /** The path to call. */
  path?: string;
  /** The port; by default 443. */
  port?: number;
}

/** How to call a webhook. */
export interface ApiextensionsWebhookClientConfig {
  /** The certificates to trust, in PEM. */
  caBundle?: string;
  /** The service to call; or url. */
  service?: ApiextensionsServiceReference;
  /** Where to call; or service. */
  url?: string;
}

export interface AuditAnnotation {
  key: string;
  valueExpression: string;
}

export interface Condition {
  lastTransitionTime: Time;
  message: string;
  observedGeneration?: number;
  reason: string;
  status: string;
  type: string;
}

/** A column of a table. */
export interface CustomResourceColumnDefinition {
  /** What it shows. */
  description?: string;
  /** How to show it. */
  format?: string;
  /** Where the cell comes from. */
  jsonPath: string;
  /** The heading. */
  name: string;
  /** 0 shows always; more, only in wide output. */
  priority?: number;
  /** integer, number, string, boolean or date. */
  type: string;
}

/** How versions become one another. */
export interface CustomResourceConversion {
  /** None or Webhook. */
  strategy: string;
  /** Which webhook. */
  webhook?: WebhookConversion;
}

/** CustomResourceDefinition makes a kind of object known to the server. */
export interface CustomResourceDefinition {
  /** APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources */
  apiVersion?: string;
  /** Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds */
  kind?: string;
  /** Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata */
  metadata?: ObjectMeta;
  /** What is wanted. */
  spec: CustomResourceDefinitionSpec;
  /** What there is. */
  status?: CustomResourceDefinitionStatus;
}

/** Something that holds or does not. */
export interface CustomResourceDefinitionCondition {
  /** When that changed. */
  lastTransitionTime?: Time;
  /** Why, in words. */
  message?: string;
  /** The generation that was looked at. */
  observedGeneration?: number;
  /** Why, in one word. */
  reason?: string;
  /** True, False or Unknown. */
  status: string;
  /** What it is about. */
  type: string;
}

/** What a kind is called. */
export interface CustomResourceDefinitionNames {
  /** Groups of kinds that clients can ask for at once, such as all. */
  categories?: string[];
  /** The kind, in CamelCase. */
  kind: string;
  /** The kind of a list; by default the kind with List. */
  listKind?: string;
  /** The resource in URLs. */
  plural: string;
  /** Short names for clients. */
  shortNames?: string[];
  /** One of them; by default the kind in lower case. */
  singular?: string;
}

/** The kind that is wanted. */
export interface CustomResourceDefinitionSpec {
  /** How versions become one another. */
  conversion?: CustomResourceConversion;
  /** The API group; objects are served under /apis/<group>. */
  group: string;
  /** What the kind is called. */
  names: CustomResourceDefinitionNames;
  /** Whether fields that no schema knows are kept. Only false for new objects. */
  preserveUnknownFields?: boolean;
  /** Cluster or Namespaced. */
  scope: string;
  /** The versions in which objects are served and stored. */
  versions: CustomResourceDefinitionVersion[];
}

/** What has become of a definition. */
export interface CustomResourceDefinitionStatus {
  /** The names in use. */
  acceptedNames?: CustomResourceDefinitionNames;
  /** What holds of it. */
  conditions?: CustomResourceDefinitionCondition[];
  /** The generation that was looked at. */
  observedGeneration?: number;
  /** The versions in which objects may still be stored. */
  storedVersions?: string[];
}

/** One version of a kind. */
export interface CustomResourceDefinitionVersion {
  /** Columns of a table; by default the age. */
  additionalPrinterColumns?: CustomResourceColumnDefinition[];
  /** Whether clients are warned. */
  deprecated?: boolean;
  /** What they are told. */
  deprecationWarning?: string;
  /** The version, such as v1. */
  name: string;
  /** The schema of objects. */
  schema?: CustomResourceValidation;
  /** Fields that a field selector may name. */
  selectableFields?: SelectableField[];
  /** Whether clients can reach it. */
  served: boolean;
  /** Whether objects are stored in it; exactly one is. */
  storage: boolean;
  /** Whether there are /status and /scale. */
  subresources?: CustomResourceSubresources;
}

/** Where /scale finds its numbers. */
export interface CustomResourceSubresourceScale {
  /** The path of the selector. */
  labelSelectorPath?: string;
  /** The path of how many are wanted. */
  specReplicasPath: string;
  /** The path of how many there are. */
  statusReplicasPath: string;
}

/** Says that there is /status. */
export type CustomResourceSubresourceStatus = Record<string, unknown>;

/** Which subresources there are. */
export interface CustomResourceSubresources {
  /** /scale */
  scale?: CustomResourceSubresourceScale;
  /** /status */
  status?: CustomResourceSubresourceStatus;
}

/** How objects are validated. */
export interface CustomResourceValidation {
  /** The schema. */
  openAPIV3Schema?: JSONSchemaProps;
}

/** Event reports that something happened to an object. */
export interface Event {
  action?: string;
  /** APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources */
  apiVersion?: string;
  count?: number;
  eventTime?: MicroTime;
  firstTimestamp?: Time;
  involvedObject: ObjectReference;
  /** Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds */
  kind?: string;
  lastTimestamp?: Time;
  message?: string;
  /** Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata */
  metadata: ObjectMeta;
  reason?: string;
  related?: ObjectReference;
  reportingComponent?: string;
  reportingInstance?: string;
  series?: EventSeries;
  source?: EventSource;
  type?: string;
}

export interface EventSeries {
  count?: number;
  lastObservedTime?: MicroTime;
}

export interface EventSource {
  component?: string;
  host?: string;
}

export interface ExpressionWarning {
  fieldRef: string;
  warning: string;
}

/** Where more is said. */
export interface ExternalDocumentation {
  description?: string;
  url?: string;
}

/** A set of fields, as a tree of JSON objects whose keys name fields, list items and map keys. */
export type FieldsV1 = Record<string, unknown>;

/** Any JSON. */
export type JSON = unknown;

/** A schema. */
export interface JSONSchemaProps {
  $ref?: string;
  $schema?: string;
  additionalItems?: JSONSchemaPropsOrBool;
  additionalProperties?: JSONSchemaPropsOrBool;
  allOf?: JSONSchemaProps[];
  anyOf?: JSONSchemaProps[];
  default?: JSON;
  definitions?: Record<string, JSONSchemaProps>;
  dependencies?: Record<string, JSONSchemaPropsOrStringArray>;
  description?: string;
  enum?: JSON[];
  example?: JSON;
  exclusiveMaximum?: boolean;
  exclusiveMinimum?: boolean;
  externalDocs?: ExternalDocumentation;
  format?: string;
  id?: string;
  items?: JSONSchemaPropsOrArray;
  maxItems?: number;
  maxLength?: number;
  maxProperties?: number;
  maximum?: number;
  minItems?: number;
  minLength?: number;
  minProperties?: number;
  minimum?: number;
  multipleOf?: number;
  not?: JSONSchemaProps;
  nullable?: boolean;
  oneOf?: JSONSchemaProps[];
  pattern?: string;
  patternProperties?: Record<string, JSONSchemaProps>;
  properties?: Record<string, JSONSchemaProps>;
  required?: string[];
  title?: string;
  type?: string;
  uniqueItems?: boolean;
  "x-kubernetes-embedded-resource"?: boolean;
  "x-kubernetes-int-or-string"?: boolean;
  "x-kubernetes-list-map-keys"?: string[];
  "x-kubernetes-list-type"?: string;
  "x-kubernetes-map-type"?: string;
  "x-kubernetes-preserve-unknown-fields"?: boolean;
  "x-kubernetes-validations"?: ValidationRule[];
}

/** A schema, or a list of them. */
export type JSONSchemaPropsOrArray = unknown;

/** A schema, or a boolean. */
export type JSONSchemaPropsOrBool = unknown;

/** A schema, or a list of strings. */
export type JSONSchemaPropsOrStringArray = unknown;

export interface LabelSelector {
  matchExpressions?: LabelSelectorRequirement[];
  matchLabels?: Record<string, string>;
}

export interface LabelSelectorRequirement {
  key: string;
  operator: string;
  values?: string[];
}

/** What a list says about itself. */
export interface ListMeta {
  /** A token for the next part of a list that was limited. Its content means nothing to clients. */
  continue?: string;
  /** How many items follow, if that is known. */
  remainingItemCount?: number;
  /** The moment of the list, from which a watch can go on. Its content means nothing to clients. */
  resourceVersion?: string;
  /** No longer set. */
  selfLink?: string;
}

/** Which fields one manager owns. */
export interface ManagedFieldsEntry {
  /** The version in which the fields are named. */
  apiVersion?: string;
  /** The form of the set of fields; always FieldsV1. */
  fieldsType?: string;
  /** The fields. */
  fieldsV1?: FieldsV1;
  /** Who manages the fields. */
  manager?: string;
  /** How: Apply or Update. */
  operation?: string;
  /** The subresource through which it was done, or nothing. */
  subresource?: string;
  /** When a field was last added, changed or given up. */
  time?: Time;
}

export interface MatchCondition {
  expression: string;
  name: string;
}

export interface MatchResources {
  excludeResourceRules?: NamedRuleWithOperations[];
  matchPolicy?: string;
  namespaceSelector?: LabelSelector;
  objectSelector?: LabelSelector;
  resourceRules?: NamedRuleWithOperations[];
}

export type MicroTime = string;

export interface MutatingWebhook {
  /** The reviews it understands, best first. */
  admissionReviewVersions: string[];
  /** Where it is, by url or by service. */
  clientConfig: AdmissionregistrationWebhookClientConfig;
  /** Fail or Ignore. */
  failurePolicy?: string;
  /** Expressions that must all be true for it to be asked. */
  matchConditions?: MatchCondition[];
  /** Exact, or Equivalent for other versions of a resource too. */
  matchPolicy?: string;
  /** A domain name with at least three segments. */
  name: string;
  /** The namespaces it is asked about. */
  namespaceSelector?: LabelSelector;
  /** The objects it is asked about. */
  objectSelector?: LabelSelector;
  /** IfNeeded to be asked again about what others change, or Never. */
  reinvocationPolicy?: string;
  /** Which operations on which resources it is asked about. */
  rules?: RuleWithOperations[];
  /** None or NoneOnDryRun. */
  sideEffects: string;
  /** How long it may take. */
  timeoutSeconds?: number;
}

/** MutatingWebhookConfiguration says who is asked before something is written and may change it. */
export interface MutatingWebhookConfiguration {
  /** APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources */
  apiVersion?: string;
  /** Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds */
  kind?: string;
  /** Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata */
  metadata?: ObjectMeta;
  /** Those who are asked. */
  webhooks?: MutatingWebhook[];
}

export interface NamedRuleWithOperations {
  apiGroups?: string[];
  apiVersions?: string[];
  operations?: string[];
  resourceNames?: string[];
  resources?: string[];
  scope?: string;
}

/** What every stored object says about itself. */
export interface ObjectMeta {
  /** Notes of any kind, by key. They cannot be selected by. */
  annotations?: Record<string, string>;
  /** When the object was created. Set by the server. */
  creationTimestamp?: Time;
  /** How long the object may take to end. Set by the server once deletion was asked for. */
  deletionGracePeriodSeconds?: number;
  /** When the object will be, or was asked to be, gone. Set by the server. */
  deletionTimestamp?: Time;
  /** What must still be done before the object is gone; whoever does it takes its entry away. */
  finalizers?: string[];
  /** A prefix from which the server makes a name when none is given. */
  generateName?: string;
  /** Grows when what is wanted of the object changes. Set by the server. */
  generation?: number;
  /** Keys and values that objects can be selected by. */
  labels?: Record<string, string>;
  /** Who manages which fields. Kept by the server. */
  managedFields?: ManagedFieldsEntry[];
  /** The name; unique among objects of a kind in a namespace, and not to be changed. */
  name?: string;
  /** The namespace the object lives in; not to be changed. */
  namespace?: string;
  /** The objects that this one belongs to. */
  ownerReferences?: OwnerReference[];
  /** The state of the object; a write that names another is refused. Its content means nothing to clients. */
  resourceVersion?: string;
  /** No longer set. */
  selfLink?: string;
  /** Tells this object from any other there ever was. Set by the server. */
  uid?: string;
}

export interface ObjectReference {
  apiVersion?: string;
  fieldPath?: string;
  kind?: string;
  name?: string;
  namespace?: string;
  resourceVersion?: string;
  uid?: string;
}

/** An object that this one belongs to and goes with. */
export interface OwnerReference {
  /** The API version of the owner. */
  apiVersion: string;
  /** Whether the owner waits for this object when it is deleted in the foreground. */
  blockOwnerDeletion?: boolean;
  /** Whether the owner is the one that controls this object. */
  controller?: boolean;
  /** The kind of the owner. */
  kind: string;
  /** The name of the owner. */
  name: string;
  /** The uid of the owner. */
  uid: string;
}

export interface ParamKind {
  apiVersion?: string;
  kind?: string;
}

export interface ParamRef {
  name?: string;
  namespace?: string;
  parameterNotFoundAction?: string;
  selector?: LabelSelector;
}

/** RoleBinding gives subjects the rules of a role within a namespace. */
export interface RoleBinding {
  /** APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources */
  apiVersion?: string;
  /** Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds */
  kind?: string;
  /** Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata */
  metadata?: ObjectMeta;
  /** The role that is bound; it cannot be changed. */
  roleRef: RoleRef;
  /** The users, groups and service accounts that the role is bound to. */
  subjects?: Subject[];
}

/** The role that is bound; it cannot be changed. */
export interface RoleRef {
  apiGroup?: string;
  kind: string;
  name: string;
}

export interface RuleWithOperations {
  apiGroups?: string[];
  apiVersions?: string[];
  operations?: string[];
  resources?: string[];
  scope?: string;
}

/** A field that a field selector may name. */
export interface SelectableField {
  /** Its path, such as .spec.color. */
  jsonPath: string;
}

/** The outcome of a request that answers with no object. */
export interface Status {
  /** APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources */
  apiVersion?: string;
  /** The HTTP status. */
  code?: number;
  /** What it is about. */
  details?: StatusDetails;
  /** Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds */
  kind?: string;
  /** The outcome, in words. */
  message?: string;
  /** Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds */
  metadata?: ListMeta;
  /** The outcome, in one word. */
  reason?: string;
  /** Success or Failure. */
  status?: string;
}

/** One reason why a request failed. */
export interface StatusCause {
  /** The field that it is about. */
  field?: string;
  /** What is wrong, in words. */
  message?: string;
  /** What is wrong, in one word. */
  reason?: string;
}

/** What a failure is about. */
export interface StatusDetails {
  /** The reasons, one by one. */
  causes?: StatusCause[];
  /** The group of the resource. */
  group?: string;
  /** The resource, or its kind. */
  kind?: string;
  /** The name of the object. */
  name?: string;
  /** When to try again, if that may help. */
  retryAfterSeconds?: number;
  /** The uid of the object. */
  uid?: string;
}

export interface Subject {
  apiGroup?: string;
  kind: string;
  name: string;
  namespace?: string;
}

/** A moment, as RFC 3339 writes it, to the second. */
export type Time = string;

export interface TypeChecking {
  expressionWarnings?: ExpressionWarning[];
}

export interface ValidatingAdmissionPolicy {
  /** APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources */
  apiVersion?: string;
  /** Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds */
  kind?: string;
  /** Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata */
  metadata?: ObjectMeta;
  spec?: ValidatingAdmissionPolicySpec;
  status?: ValidatingAdmissionPolicyStatus;
}

export interface ValidatingAdmissionPolicyBinding {
  /** APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources */
  apiVersion?: string;
  /** Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds */
  kind?: string;
  /** Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata */
  metadata?: ObjectMeta;
  spec: ValidatingAdmissionPolicyBindingSpec;
}

export interface ValidatingAdmissionPolicyBindingSpec {
  matchResources?: MatchResources;
  paramRef?: ParamRef;
  policyName: string;
  validationActions: string[];
}

export interface ValidatingAdmissionPolicySpec {
  auditAnnotations?: AuditAnnotation[];
  failurePolicy?: string;
  matchConditions?: MatchCondition[];
  matchConstraints?: MatchResources;
  paramKind?: ParamKind;
  validations?: Validation[];
  variables?: Variable[];
}

export interface ValidatingAdmissionPolicyStatus {
  conditions?: Condition[];
  observedGeneration?: number;
  typeChecking?: TypeChecking;
}

export interface ValidatingWebhook {
  /** The reviews it understands, best first. */
  admissionReviewVersions: string[];
  /** Where it is, by url or by service. */
  clientConfig: AdmissionregistrationWebhookClientConfig;
  /** Fail or Ignore. */
  failurePolicy?: string;
  /** Expressions that must all be true for it to be asked. */
  matchConditions?: MatchCondition[];
  /** Exact, or Equivalent for other versions of a resource too. */
  matchPolicy?: string;
  /** A domain name with at least three segments. */
  name: string;
  /** The namespaces it is asked about. */
  namespaceSelector?: LabelSelector;
  /** The objects it is asked about. */
  objectSelector?: LabelSelector;
  /** Which operations on which resources it is asked about. */
  rules?: RuleWithOperations[];
  /** None or NoneOnDryRun. */
  sideEffects: string;
  /** How long it may take. */
  timeoutSeconds?: number;
}

/** ValidatingWebhookConfiguration says who is asked before something is written and may refuse it. */
export interface ValidatingWebhookConfiguration {
  /** APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources */
  apiVersion?: string;
  /** Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds */
  kind?: string;
  /** Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata */
  metadata?: ObjectMeta;
  /** Those who are asked. */
  webhooks?: ValidatingWebhook[];
}

export interface Validation {
  expression: string;
  message?: string;
  messageExpression?: string;
  reason?: string;
}

/** A rule in CEL. */
export interface ValidationRule {
  /** The field that a failure is reported on. */
  fieldPath?: string;
  /** What to say on failure. */
  message?: string;
  /** CEL that makes what to say. */
  messageExpression?: string;
  /** Whether the rule is also run when there is no old value. */
  optionalOldSelf?: boolean;
  /** The reason to give. */
  reason?: string;
  /** The expression; it must be true. */
  rule: string;
}

export interface Variable {
  expression: string;
  name: string;
}

/** A webhook that converts. */
export interface WebhookConversion {
  /** How to call it. */
  clientConfig?: ApiextensionsWebhookClientConfig;
  /** The versions of ConversionReview that it understands, best first. */
  conversionReviewVersions: string[];
}
