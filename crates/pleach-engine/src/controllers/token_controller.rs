//! The service account token controller: fills Secrets of type `kubernetes.io/service-account-token` with a token, the
//! CA and the namespace, and deletes them with their ServiceAccount.

use std::sync::Arc;
use std::time::Duration;

use pleach_auth::UserInfo;
use pleach_go::base64;
use pleach_json::{Map, Str, Value, json};
use pleach_meta::object_meta::ObjectMeta;
use pleach_store::{Key, RangeQuery};

use super::controller::{Change, Controller, Due, Progress, Worked};
use super::written::write;
use crate::engine::Engine;
use crate::keys;
use crate::options::{Context, DeleteOptions};
use crate::record::Record;
use crate::rejection::Rejection;

/// The type of the Secrets.
pub const SECRET_TYPE: &str = "kubernetes.io/service-account-token";
/// The annotation that names the ServiceAccount.
pub const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
/// The annotation with its uid.
pub const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";
/// The issuer of tokens in Secrets.
pub const ISSUER: &str = "kubernetes/serviceaccount";

const SECRETS: &str = "secrets";
const ACCOUNTS: &str = "serviceaccounts";
/// The user that writes and deletes.
const USER: &str = "system:serviceaccount:kube-system:tokens-controller";
/// How many Secrets are read at once when an account was deleted.
const PAGE: usize = 256;

/// Signs the tokens of Secrets.
pub trait SecretTokenSigner: Send + Sync + 'static {
    /// A token with these claims.
    fn sign(&self, claims: &Value) -> Result<String, String>;
}

/// A Secret, or all Secrets of a namespace whose ServiceAccount was deleted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Item {
    namespace: Str,
    secret: Option<Str>,
}

/// Fills and deletes the Secrets.
pub(super) struct TokenController {
    engine: Arc<Engine>,
    signer: Arc<dyn SecretTokenSigner>,
    root_ca: Str,
}

impl TokenController {
    pub(super) fn new(engine: Arc<Engine>, signer: Arc<dyn SecretTokenSigner>, root_ca: Str) -> Self {
        Self { engine, signer, root_ca }
    }

    /// Fills a Secret, or deletes it if its account is another one or was deleted.
    async fn reconcile(&self, key: &Key, record: &Record) -> Result<(), Rejection> {
        if memchr::memmem::find(record.bytes(), SECRET_TYPE.as_bytes()).is_none() {
            return Ok(());
        }
        let mut secret = record.parse()?;
        let is_token = secret.get("type").and_then(Value::as_str) == Some(SECRET_TYPE);
        if !is_token || ObjectMeta::of(&secret).is_terminating() {
            return Ok(());
        }
        let text = |path: &[&str]| secret.at(path).and_then(Value::as_str).unwrap_or_default();
        let annotation = |name: &str| text(&["metadata", "annotations", name]);
        let (namespace, name) = (text(&["metadata", "namespace"]), text(&["metadata", "name"]));
        let account_name = annotation(ACCOUNT_NAME);
        let account = keys::object("", ACCOUNTS, Some(namespace), account_name);
        let account = match self.engine.stored(&account).await? {
            Some(record) => Some(record.parse()?),
            None => None,
        };
        let uid = account.as_ref().and_then(|account| account.at(&["metadata", "uid"]));
        let uid = uid.and_then(Value::as_str).unwrap_or_default();
        let known = annotation(ACCOUNT_UID);
        if account.is_none() || (!known.is_empty() && known != uid) {
            return self.delete(key, text(&["metadata", "uid"])).await;
        }
        let ca = base64::encode(self.root_ca.as_bytes());
        let encoded_namespace = base64::encode(namespace.as_bytes());
        let token = text(&["data", "token"]);
        let is_filled = !token.is_empty()
            && known == uid
            && text(&["data", "ca.crt"]) == ca
            && text(&["data", "namespace"]) == encoded_namespace;
        if is_filled {
            return Ok(());
        }
        let token = if token.is_empty() {
            let claims = json!({
                "iss": (ISSUER),
                "sub": (format!("system:serviceaccount:{namespace}:{account_name}")),
                "kubernetes.io/serviceaccount/namespace": (namespace),
                "kubernetes.io/serviceaccount/secret.name": (name),
                "kubernetes.io/serviceaccount/service-account.name": (account_name),
                "kubernetes.io/serviceaccount/service-account.uid": (uid),
            });
            base64::encode(self.signer.sign(&claims).map_err(Rejection::Internal)?.as_bytes())
        } else {
            token.to_owned()
        };
        let uid = uid.to_owned();
        fill(&mut secret, &uid, &[("ca.crt", ca), ("namespace", encoded_namespace), ("token", token)]);
        write(&self.engine, key, &secret, true, USER).await
    }

    async fn delete(&self, key: &Key, uid: &str) -> Result<(), Rejection> {
        let Some(target) = self.engine.target_of(key) else { return Ok(()) };
        let options = DeleteOptions { uid: Some(uid.into()), ..DeleteOptions::default() };
        let groups = ["system:serviceaccounts", "system:serviceaccounts:kube-system"];
        let user = UserInfo::authenticated(USER, groups.map(Str::new_static));
        let mut context = Context { user, user_agent: Str::new_static(""), warnings: Vec::new() };
        match self.engine.delete(&target, &options, &mut context).await {
            Ok(_) | Err(Rejection::NotFound(_) | Rejection::Conflict { .. }) => Ok(()),
            Err(rejection) => Err(rejection),
        }
    }
}

fn fill(secret: &mut Value, uid: &str, data: &[(&str, String)]) {
    let Some(members) = secret.as_object_mut() else { return };
    if members.get("data").is_none_or(Value::is_null) {
        members.insert("data", Map::new());
    }
    if let Some(found) = members.get_mut("data").and_then(Value::as_object_mut) {
        for (key, text) in data {
            found.insert(*key, text.as_str());
        }
    }
    let metadata = members.get_mut("metadata").and_then(Value::as_object_mut);
    if let Some(annotations) =
        metadata.and_then(|metadata| metadata.get_mut("annotations")).and_then(Value::as_object_mut)
    {
        annotations.insert(ACCOUNT_UID, uid);
    }
}

impl Controller for TokenController {
    type Item = Item;
    const NAME: &'static str = "serviceaccount-token-controller";
    const WORKERS: usize = 4;

    fn observe(&self, change: &Change<'_>) -> Due<Item> {
        let Some(("" | "core", plural, rest)) = keys::split(change.key()) else { return Vec::new() };
        let Some((namespace, name)) = rest.split_once('/') else { return Vec::new() };
        let item = match (plural, change) {
            (SECRETS, Change::Stored { .. }) => {
                Item { namespace: namespace.into(), secret: Some(name.into()) }
            }
            (ACCOUNTS, Change::Gone { .. }) => Item { namespace: namespace.into(), secret: None },
            _ => return Vec::new(),
        };
        vec![(item, Duration::ZERO)]
    }

    async fn work(&self, item: &Item) -> Worked<Item> {
        if let Some(name) = &item.secret {
            let key = keys::object("", SECRETS, Some(&item.namespace), name);
            if let Some(record) = self.engine.stored(&key).await? {
                self.reconcile(&key, &record).await?;
            }
            return Ok(Progress::Finished);
        }
        let prefix = keys::prefix("", SECRETS, Some(&item.namespace));
        let mut query = RangeQuery::prefix(&prefix).limit(PAGE);
        loop {
            let range = self.engine.store.range(query.clone()).await.map_err(Rejection::from_store)?;
            let last = range.items.last().map(|found| found.key.clone());
            for found in range.items {
                if let Ok(record) = Record::open(found.value, found.revision) {
                    self.reconcile(&found.key, &record).await?;
                }
            }
            match last.filter(|_| range.more) {
                Some(last) => query = query.after(&last),
                None => return Ok(Progress::Finished),
            }
        }
    }
}
