//! The table of admission plugins, and which of them are enabled.

use std::fmt;

use super::Plugin;
use super::certificates::{CertificateApproval, CertificateSigning, CertificateSubjectRestriction};
use super::classes::{DefaultIngressClass, PersistentVolumeClaimResize};
use super::default_toleration_seconds::DefaultTolerationSeconds;
use super::limit_ranger::LimitRanger;
use super::mutating_policy::MutatingAdmissionPolicy;
use super::mutating_webhook::MutatingAdmissionWebhook;
use super::namespace_lifecycle::NamespaceLifecycle;
use super::pod_security::PodSecurity;
use super::pods::{PodResizeValidator, PodTopologyLabels, RuntimeClass, TaintNodesByCondition};
use super::priority::Priority;
use super::resource_quota::ResourceQuota;
use super::service_account::ServiceAccount;
use super::storage::{DefaultStorageClass, StorageObjectInUseProtection};
use super::validating_policy::ValidatingAdmissionPolicy;
use super::validating_webhook::ValidatingAdmissionWebhook;

/// A plugin of kube-apiserver.
struct Entry {
    name: &'static str,
    /// Whether it runs by default.
    default: bool,
    /// None: the name is accepted and has no effect.
    plugin: Option<&'static dyn Plugin>,
}

const fn off(name: &'static str) -> Entry {
    Entry { name, default: false, plugin: None }
}

const fn on(name: &'static str) -> Entry {
    Entry { name, default: true, plugin: None }
}

const fn built(name: &'static str, plugin: &'static dyn Plugin) -> Entry {
    Entry { name, default: true, plugin: Some(plugin) }
}

/// A plugin that kube-apiserver runs by default and envtest disables, as this server does.
const fn optional(name: &'static str, plugin: &'static dyn Plugin) -> Entry {
    Entry { name, default: false, plugin: Some(plugin) }
}

/// All plugins of kube-apiserver v1.36, in the order they run.
static PLUGINS: &[Entry] = &[
    off("AlwaysAdmit"),
    off("NamespaceAutoProvision"),
    built("NamespaceLifecycle", &NamespaceLifecycle),
    off("NamespaceExists"),
    off("LimitPodHardAntiAffinityTopology"),
    built("LimitRanger", &LimitRanger),
    optional("ServiceAccount", &ServiceAccount),
    off("NodeRestriction"),
    built("TaintNodesByCondition", &TaintNodesByCondition),
    off("AlwaysPullImages"),
    off("ImagePolicyWebhook"),
    built("PodSecurity", &PodSecurity),
    off("PodNodeSelector"),
    built("Priority", &Priority),
    built("DefaultTolerationSeconds", &DefaultTolerationSeconds),
    off("PodTolerationRestriction"),
    off("EventRateLimit"),
    off("ExtendedResourceToleration"),
    built("DefaultStorageClass", &DefaultStorageClass),
    built("StorageObjectInUseProtection", &StorageObjectInUseProtection),
    on("PodGroupProtection"),
    off("OwnerReferencesPermissionEnforcement"),
    built("PersistentVolumeClaimResize", &PersistentVolumeClaimResize),
    built("RuntimeClass", &RuntimeClass),
    built("CertificateApproval", &CertificateApproval),
    built("CertificateSigning", &CertificateSigning),
    on("ClusterTrustBundleAttest"),
    built("CertificateSubjectRestriction", &CertificateSubjectRestriction),
    built("DefaultIngressClass", &DefaultIngressClass),
    off("DenyServiceExternalIPs"),
    built("PodTopologyLabels", &PodTopologyLabels),
    on("PodGroupWorkloadExists"),
    on("NodeDeclaredFeatureValidator"),
    on("JobValidation"),
    built("PodResizeValidator", &PodResizeValidator),
    built("MutatingAdmissionPolicy", &MutatingAdmissionPolicy),
    built("MutatingAdmissionWebhook", &MutatingAdmissionWebhook),
    built("ValidatingAdmissionPolicy", &ValidatingAdmissionPolicy),
    built("ValidatingAdmissionWebhook", &ValidatingAdmissionWebhook),
    built("ResourceQuota", &ResourceQuota),
    off("AlwaysDeny"),
];

/// The admission plugins that run.
#[derive(Clone)]
pub struct AdmissionPlugins {
    enabled: Vec<&'static dyn Plugin>,
    names: Vec<&'static str>,
}

impl PartialEq for AdmissionPlugins {
    fn eq(&self, other: &Self) -> bool {
        self.names == other.names
    }
}

impl Eq for AdmissionPlugins {}

impl fmt::Debug for AdmissionPlugins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AdmissionPlugins").field(&self.names).finish()
    }
}

impl Default for AdmissionPlugins {
    /// The plugins that kube-apiserver runs by default.
    fn default() -> Self {
        Self::running(|entry| entry.default)
    }
}

impl AdmissionPlugins {
    fn running(runs: impl Fn(&Entry) -> bool) -> Self {
        let entries = PLUGINS.iter().filter(|entry| runs(entry));
        let (names, enabled) = entries.filter_map(|entry| Some((entry.name, entry.plugin?))).unzip();
        Self { enabled, names }
    }

    /// The plugins that `--enable-admission-plugins` and `--disable-admission-plugins` leave, and the names of
    /// enabled ones that have no effect here. The error is kube-apiserver's.
    pub fn from_flags(enable: &[String], disable: &[String]) -> Result<(Self, Vec<&'static str>), String> {
        for (flag, names) in [("enable", enable), ("disable", disable)] {
            if let Some(unknown) = names.iter().find(|name| PLUGINS.iter().all(|entry| entry.name != **name))
            {
                return Err(format!("{flag}-admission-plugins plugin {unknown:?} is unknown"));
            }
        }
        let has = |names: &[String], entry: &Entry| names.iter().any(|name| name == entry.name);
        let both = PLUGINS.iter().filter(|entry| has(enable, entry) && has(disable, entry));
        let mut both: Vec<&str> = both.map(|entry| entry.name).collect();
        if !both.is_empty() {
            both.sort_unstable();
            let both = both.join(" ");
            return Err(format!(
                "[{both}] in enable-admission-plugins and disable-admission-plugins overlapped"
            ));
        }
        let plugins = Self::running(|entry| has(enable, entry) || entry.default && !has(disable, entry));
        let without = PLUGINS.iter().filter(|entry| has(enable, entry) && entry.plugin.is_none());
        Ok((plugins, without.map(|entry| entry.name).collect()))
    }

    /// In the order they run.
    pub(super) fn enabled(&self) -> impl Iterator<Item = &'static dyn Plugin> {
        self.enabled.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn each_plugin_is_listed_once() {
        for (at, entry) in PLUGINS.iter().enumerate() {
            assert!(PLUGINS[..at].iter().all(|other| other.name != entry.name), "{}", entry.name);
        }
    }

    #[test]
    fn flags_choose_among_known_plugins() {
        let built = PLUGINS.iter().filter(|entry| entry.default && entry.plugin.is_some()).count();
        for (enable, disable, want, why) in [
            (&[][..], &[][..], Ok((built, vec![])), "the defaults"),
            (&[], &["NamespaceLifecycle"], Ok((built - 1, vec![])), "one less"),
            (&[], &["JobValidation", "AlwaysDeny"], Ok((built, vec![])), "not built, so nothing changes"),
            (&["JobValidation"], &[], Ok((built, vec!["JobValidation"])), "not built, and said so"),
            (&["NamespaceLifecycle"], &[], Ok((built, vec![])), "enabled already"),
            (&["ServiceAccount"], &[], Ok((built + 1, vec![])), "one more"),
            (&["Nonsense"], &[], Err("enable-admission-plugins plugin \"Nonsense\" is unknown"), "unknown"),
            (&[], &["x"], Err("disable-admission-plugins plugin \"x\" is unknown"), "unknown"),
            (
                &["ResourceQuota", "LimitRanger"],
                &["LimitRanger", "ResourceQuota"],
                Err(
                    "[LimitRanger ResourceQuota] in enable-admission-plugins and disable-admission-plugins overlapped",
                ),
                "both",
            ),
        ] {
            let found = AdmissionPlugins::from_flags(&names(enable), &names(disable));
            let found = found.map(|(plugins, without)| (plugins.enabled.len(), without));
            assert_eq!(found, want.map_err(str::to_owned), "{why}");
        }
        assert_eq!(AdmissionPlugins::default().enabled.len(), built);
    }
}
