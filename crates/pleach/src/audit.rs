//! Auditing as the flags ask for it.

use std::sync::Arc;
use std::time::Duration;

use pleach_engine::webhooks::Caller;
use pleach_server::audit::Audit;
use pleach_server::audit::log::{AuditLog, LogOptions};
use pleach_server::audit::policy::Policy;
use pleach_server::audit::webhook::{AuditWebhook, BatchOptions};
use pleach_server::webhook_config;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::cli::AuditOptions;
use crate::files::{at, read};

/// How long events that wait for the webhook may take when the server stops.
const LAST_BATCHES: Duration = Duration::from_secs(5);

/// The task that sends events to the webhook.
pub(crate) struct Sending {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Sending {
    /// Sends the events that wait.
    pub(crate) async fn finish(self) {
        let _ = self.stop.send(());
        if tokio::time::timeout(LAST_BATCHES, self.task).await.is_err() {
            tracing::error!("audit webhook does not answer, the last events are lost");
        }
    }
}

/// Opens the log and the webhook; none if there is no policy. The webhook's task is spawned.
pub(crate) fn open(
    options: &AuditOptions,
    caller: &Arc<dyn Caller>,
) -> Result<(Option<Arc<Audit>>, Option<Sending>), String> {
    let Some(path) = &options.audit_policy_file else {
        if options.audit_log_path.is_some() || options.audit_webhook_config_file.is_some() {
            tracing::warn!("no audit policy file: no events are recorded");
        }
        return Ok((None, None));
    };
    let policy = Policy::parse(&read(path)?).map_err(|error| at(path, &error))?;
    let log = options.audit_log_path.clone().map(|path| {
        AuditLog::open(LogOptions {
            path,
            max_size: options.audit_log_maxsize << 20,
            max_backups: options.audit_log_maxbackup,
            max_age_days: options.audit_log_maxage,
        })
    });
    let log = log.transpose().map_err(|error| error.to_string())?;
    let webhook = match &options.audit_webhook_config_file {
        Some(path) => {
            let address = webhook_config::address(path)?;
            let batches = BatchOptions {
                buffer: options.audit_webhook_batch_buffer_size as usize,
                max_size: options.audit_webhook_batch_max_size as usize,
                max_wait: options.audit_webhook_batch_max_wait,
            };
            let (stop, stopped) = oneshot::channel();
            let (webhook, task) = AuditWebhook::new(caller.clone(), address, batches, stopped);
            Some((webhook, Sending { stop, task: tokio::spawn(task) }))
        }
        None => None,
    };
    let (webhook, sending) = webhook.unzip();
    if log.is_none() && webhook.is_none() {
        tracing::warn!("no audit log and no audit webhook: no events are recorded");
        return Ok((None, None));
    }
    Ok((Some(Audit::new(policy, log, webhook)), sending))
}
