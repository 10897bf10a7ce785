//! Drop-in for the control plane of envtest.
//!
//! envtest, kuttl and fabric8's kube-api-test start two programs, `etcd` and `kube-apiserver`, with flags and files
//! of their own making. One binary plays both: [`Program::of`] looks at the name it was started by. The program
//! `etcd` stores nothing; it answers health checks and tells `kube-apiserver` its data directory, in which the API
//! server keeps its store. So state outlives a restart of the API server alone, as with the real programs.

pub mod bundle;
pub mod etcd;
pub mod flags;
pub mod install;
pub mod kube_apiserver;
pub mod parent;

/// The Kubernetes version that the programs report.
pub const KUBERNETES_VERSION: &str = "v1.36.4";

/// The programs of envtest that this binary plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// `etcd`.
    Etcd,
    /// `kube-apiserver`.
    KubeApiserver,
}

impl Program {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Etcd, Self::KubeApiserver];

    /// The program of this name; the name may be a path.
    pub fn of(name: &std::ffi::OsStr) -> Option<Self> {
        let name = std::path::Path::new(name).file_name()?.to_str()?;
        Self::ALL.into_iter().find(|program| program.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::KubeApiserver => "kube-apiserver",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_by_the_last_part_of_their_path() {
        for (name, program) in [
            ("/assets/kube-apiserver", Some(Program::KubeApiserver)),
            ("etcd", Some(Program::Etcd)),
            ("./pleach", None),
            ("/etcd/pleach", None),
            ("", None),
        ] {
            assert_eq!(Program::of(name.as_ref()), program, "{name}");
        }
    }
}
