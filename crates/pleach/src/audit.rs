//! Auditing as the flags ask for it.

use std::sync::Arc;

use pleach_engine::webhooks::Caller;
use pleach_server::audit::Audit;
use pleach_server::audit::log::{AuditLog, LogOptions};
use pleach_server::audit::policy::Policy;
use pleach_server::audit::webhook::{AuditWebhook, BatchOptions};
use pleach_server::webhook_config;

use crate::cli::AuditOptions;
use crate::files::{at, read};

/// Opens the log and the webhook; none if there is no policy. The webhook's task is spawned.
pub(crate) fn open(options: &AuditOptions, caller: &Arc<dyn Caller>) -> Result<Option<Arc<Audit>>, String> {
    let Some(path) = &options.audit_policy_file else {
        if options.audit_log_path.is_some() || options.audit_webhook_config_file.is_some() {
            tracing::warn!("no audit policy file: no events are recorded");
        }
        return Ok(None);
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
            let (webhook, task) = AuditWebhook::new(caller.clone(), address, batches);
            tokio::spawn(task);
            Some(webhook)
        }
        None => None,
    };
    if log.is_none() && webhook.is_none() {
        tracing::warn!("no audit log and no audit webhook: no events are recorded");
        return Ok(None);
    }
    Ok(Some(Audit::new(policy, log, webhook)))
}
