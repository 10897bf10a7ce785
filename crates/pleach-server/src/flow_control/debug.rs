//! `/debug/api_priority_and_fairness/`: the state of priority levels and queues as tables.

use std::sync::PoisonError;

use http::Response;

use super::FlowControl;
use crate::body::Body;
use crate::outcome::Outcome;
use crate::respond;

impl FlowControl {
    /// The dump of a name, if there is one.
    pub fn dump(&self, name: &str) -> Option<Response<Body>> {
        let rows = match name {
            "dump_priority_levels" => self.dump_levels(),
            "dump_queues" => self.dump_queues(),
            _ => return None,
        };
        Some(respond::text(Outcome::Ok, table(&rows)))
    }

    pub(super) fn dump_levels(&self) -> Vec<Vec<String>> {
        let mut rows = vec![row([
            "PriorityLevelName",
            "ActiveQueues",
            "IsIdle",
            "IsQuiescing",
            "WaitingRequests",
            "ExecutingRequests",
            "DispatchedRequests",
            "RejectedRequests",
            "TimedoutRequests",
            "CancelledRequests",
        ])];
        let config = self.config.read().unwrap_or_else(PoisonError::into_inner);
        for level in &config.levels {
            let queues = level.queues();
            let active = queues.queues().filter(|(_, waiting, ..)| *waiting > 0).count();
            let (waiting, executing) = (queues.waiting(), queues.executing());
            let dispatched: u64 = queues.flows.iter().map(|flow| flow.dispatched).sum();
            let refused: u64 = queues.flows.iter().map(super::stats::FlowStats::all_refusals).sum();
            let timed_out: u64 =
                queues.flows.iter().filter_map(|flow| flow.refusals().last()).map(|(_, count)| count).sum();
            rows.push(vec![
                level.name.to_string(),
                active.to_string(),
                (waiting == 0 && executing == 0).to_string(),
                "false".into(),
                waiting.to_string(),
                executing.to_string(),
                dispatched.to_string(),
                refused.to_string(),
                "0".into(),
                timed_out.to_string(),
            ]);
        }
        rows
    }

    fn dump_queues(&self) -> Vec<Vec<String>> {
        let mut rows = vec![row([
            "PriorityLevelName",
            "Index",
            "PendingRequests",
            "ExecutingRequests",
            "SeatsInUse",
            "NextDispatchR",
            "InitialSeatsSum",
            "MaxSeatsSum",
            "TotalWorkSum",
        ])];
        let config = self.config.read().unwrap_or_else(PoisonError::into_inner);
        for level in &config.levels {
            let queues = level.queues();
            for (index, waiting, executing, seats, waiting_seats, next) in queues.queues() {
                rows.push(vec![
                    level.name.to_string(),
                    index.to_string(),
                    waiting.to_string(),
                    executing.to_string(),
                    seats.to_string(),
                    format!("{next:.8}ss"),
                    waiting_seats.to_string(),
                    waiting_seats.to_string(),
                    format!("{:.8}ss", waiting_seats as f64 * 0.003),
                ]);
            }
        }
        rows
    }
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

/// Cells in columns, with commas, as Go's tabwriter aligns them.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].len() + 1).max().unwrap_or_default() + 1;
    let widths: Vec<usize> = (0..columns).map(|column| width(column).max(8)).collect();
    let mut out = String::new();
    for row in rows {
        for (i, (cell, width)) in row.iter().zip(&widths).enumerate() {
            if i + 1 == columns {
                out.push_str(cell);
            } else {
                let cell = format!("{cell},");
                out.push_str(&format!("{cell:<width$}"));
            }
        }
        out.push('\n');
    }
    out
}
