// Admission webhooks and policies, with what the server's metrics say about them.

import { useLoaded } from "../context";
import type { ValidatingAdmissionPolicyBindingSpec, ValidatingAdmissionPolicySpec, ValidatingWebhookConfiguration } from "../generated/openapi";
import { ApiError, getJson, groupPath, type KubeObject } from "../lib/api";
import { count, duration } from "../lib/format";
import { quantile, summaries, sums, type Sample } from "../lib/metrics";
import { link } from "../lib/router";

type WebhookConfiguration = KubeObject & Pick<ValidatingWebhookConfiguration, "webhooks">;

export function Webhooks({ samples }: { samples: Sample[] }) {
  const found = useLoaded(async (signal) => {
    const kinds = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];
    const lists = await Promise.all(kinds.map((plural) => getJson<{ items: WebhookConfiguration[] }>(`${groupPath("admissionregistration.k8s.io", "v1")}/${plural}`, signal)));
    return lists.flatMap((list, i) => list.items.flatMap((item) => (item.webhooks ?? []).map((hook) => ({ plural: kinds[i] ?? "", configuration: item.metadata.name, hook }))));
  }, []);
  const by = ["name", "type"];
  const calls = summaries(samples, "apiserver_admission_webhook_admission_duration_seconds", by);
  const refusals = sums(samples, "apiserver_admission_webhook_rejection_count", [...by, "error_type"]);
  const ignored = sums(samples, "apiserver_admission_webhook_fail_open_count", by);
  return (
    <>
      <h2 class="pad-x">Admission webhooks</h2>
      {found.error && <p class="quiet pad-x">{found.error.message}</p>}
      {found.value?.length === 0 && <p class="quiet pad-x">None. A MutatingWebhookConfiguration or ValidatingWebhookConfiguration adds one.</p>}
      {found.value && found.value.length > 0 && (
        <table class="list">
          <thead><tr><th scope="col">Webhook</th><th scope="col">Sort</th><th scope="col">Configuration</th><th scope="col">Called for</th><th scope="col">On failure</th><th scope="col" class="number">Timeout</th><th scope="col" class="number">Calls</th><th scope="col" class="number">Median</th><th scope="col" class="number">99 %</th><th scope="col" class="number">Denials</th><th scope="col" class="number">Failures</th></tr></thead>
          <tbody>
            {found.value.map(({ plural, configuration, hook }) => {
              const key = `${hook.name} ${plural.startsWith("mutating") ? "admit" : "validating"}`;
              const call = calls.get(key);
              const failures = (refusals.get(`${key} calling_webhook_error`) ?? 0) + (ignored.get(key) ?? 0);
              return (
              <tr key={`${plural} ${configuration} ${hook.name}`}>
                <th scope="row" class="break">{hook.name}</th><td>{plural.startsWith("mutating") ? "mutating" : "validating"}</td>
                <td><a href={link(["object", "admissionregistration.k8s.io", "v1", plural, "-", configuration])}>{configuration}</a></td>
                <td class="break">{(hook.rules ?? []).map((rule) => `${(rule.operations ?? []).join(",")} ${(rule.resources ?? []).join(",")}.${(rule.apiGroups ?? []).join(",")}`).join("; ")}</td>
                <td>{hook.failurePolicy}</td><td class="number">{hook.timeoutSeconds} s</td>
                <td class="number">{count(call?.count ?? 0)}</td><td class="number">{duration(quantile(0.5, call?.buckets ?? []))}</td><td class="number">{duration(quantile(0.99, call?.buckets ?? []))}</td>
                <td class="number">{count(refusals.get(`${key} no_error`) ?? 0)}</td><td class="number">{count(failures)}</td>
              </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </>
  );
}

type Policy = KubeObject & { spec?: Partial<ValidatingAdmissionPolicySpec & ValidatingAdmissionPolicyBindingSpec> };

const GROUP = "admissionregistration.k8s.io";

/** Validating and mutating admission policies: their bindings, evaluations and outcomes. */
export function Policies({ samples }: { samples: Sample[] }) {
  const found = useLoaded(async (signal) => {
    // Mutating policies are younger, and not served everywhere.
    const list = async (plural: string) => {
      for (const version of ["v1", "v1beta1"]) {
        try {
          const { items } = await getJson<{ items: Policy[] }>(`${groupPath(GROUP, version)}/${plural}`, signal);
          return { version, items };
        } catch (error) {
          if (!(error instanceof ApiError && error.code === 404)) throw error;
        }
      }
      return { version: "v1", items: [] };
    };
    const sorts = ["validating", "mutating"].map(async (sort) => {
      const [policies, bindings] = await Promise.all([list(`${sort}admissionpolicies`), list(`${sort}admissionpolicybindings`)]);
      return policies.items.map((policy) => ({ sort, policy, version: policies.version, bindings: bindings.items.filter((binding) => binding.spec?.policyName === policy.metadata.name) }));
    });
    return (await Promise.all(sorts)).flat();
  }, []);
  const ofSort = (sort: string) => {
    const name = `apiserver_${sort}_admission_policy_check`;
    return { took: summaries(samples, `${name}_duration_seconds`, ["policy"]), outcomes: sums(samples, `${name}_total`, ["policy", "enforcement_action"]), errors: sums(samples, `${name}_total`, ["policy", "error_type"]) };
  };
  const figures: Record<string, ReturnType<typeof ofSort>> = { validating: ofSort("validating"), mutating: ofSort("mutating") };
  return (
    <>
      <h2 class="pad-x">Admission policies</h2>
      {found.error && <p class="quiet pad-x">{found.error.message}</p>}
      {found.value?.length === 0 && <p class="quiet pad-x">None. A ValidatingAdmissionPolicy or MutatingAdmissionPolicy with a binding adds one.</p>}
      {found.value && found.value.length > 0 && (
        <table class="list">
          <thead><tr><th scope="col">Policy</th><th scope="col">Sort</th><th scope="col">Bindings</th><th scope="col">On failure</th><th scope="col" class="number">Evaluations</th><th scope="col" class="number">Mean</th><th scope="col" class="number">99 %</th><th scope="col" class="number">Denials</th><th scope="col" class="number">Warnings, audits</th><th scope="col" class="number">Errors</th></tr></thead>
          <tbody>
            {found.value.map(({ sort, policy, version, bindings }) => {
              const { name } = policy.metadata;
              const { took, outcomes, errors } = figures[sort] ?? ofSort(sort);
              const time = took.get(name);
              const outcome = (action: string) => outcomes.get(`${name} ${action}`) ?? 0;
              return (
                <tr key={`${sort} ${name}`}>
                  <th scope="row" class="break"><a href={link(["object", GROUP, version, `${sort}admissionpolicies`, "-", name])}>{name}</a></th><td>{sort}</td>
                  <td class="break">{bindings.length ? bindings.map((binding) => `${binding.metadata.name}${binding.spec?.validationActions ? ` (${binding.spec.validationActions.join(", ")})` : ""}`).join("; ") : <span class="quiet">none: it does nothing</span>}</td>
                  <td>{policy.spec?.failurePolicy}</td>
                  <td class="number">{count(time?.count ?? 0)}</td><td class="number">{duration(time ? time.sum / time.count : NaN)}</td><td class="number">{duration(quantile(0.99, time?.buckets ?? []))}</td>
                  <td class="number">{count(outcome("deny"))}</td><td class="number">{count(outcome("warn") + outcome("audit"))}</td><td class="number">{count(errors.get(`${name} invalid_error`) ?? 0)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </>
  );
}
