//! The body of an answer, and faults of watches: events that are delayed, held back, left out, or not sent any more.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use http_body::{Frame, SizeHint};
use pleach_server::body::{Body, Broken};
use tokio::time::Sleep;

use crate::fault::Action;

/// How often events that are held back check whether their rule was removed.
const HELD: Duration = Duration::from_millis(10);

/// The body of an answer.
pub struct WorldBody {
    inner: Body,
    faults: Option<Box<EventFaults>>,
}

impl WorldBody {
    /// The body as it is.
    pub(crate) fn new(inner: Body) -> Self {
        Self { inner, faults: None }
    }

    /// The events of a watch, with faults. `is_active` is false once the rule is removed.
    pub(crate) fn with_fault(inner: Body, action: Action, is_json: bool, is_active: Arc<AtomicBool>) -> Self {
        let faults = EventFaults {
            action,
            is_json,
            is_active,
            partial: BytesMut::new(),
            events: VecDeque::new(),
            sent: 0,
            timer: None,
            ended: false,
        };
        Self { inner, faults: Some(Box::new(faults)) }
    }
}

/// A fault of a watch, and the bytes not sent yet.
struct EventFaults {
    action: Action,
    is_json: bool,
    is_active: Arc<AtomicBool>,
    /// The beginning of an event.
    partial: BytesMut,
    events: VecDeque<Bytes>,
    sent: u64,
    timer: Option<Pin<Box<Sleep>>>,
    ended: bool,
}

impl EventFaults {
    /// Takes the complete events out of the received bytes: lines of JSON, or frames with their length in front.
    fn split(&mut self) {
        loop {
            let length = if self.is_json {
                self.partial.iter().position(|byte| *byte == b'\n').map(|at| at + 1)
            } else {
                let length =
                    self.partial.first_chunk().map(|length| u32::from_be_bytes(*length) as usize + 4);
                length.filter(|length| *length <= self.partial.len())
            };
            let Some(length) = length else { return };
            let event = self.partial.split_to(length).freeze();
            let is_bookmark = event.windows(8).any(|part| part == b"BOOKMARK");
            if self.action != Action::WithholdBookmarks || !is_bookmark {
                self.events.push_back(event);
            }
        }
    }

    /// Whether the next event may be sent.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let wait = match self.action {
            Action::DelayEvents(by) => by,
            Action::HoldEvents => HELD,
            _ => return Poll::Ready(()),
        };
        loop {
            if !self.is_active.load(Ordering::Acquire) {
                return Poll::Ready(());
            }
            let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(wait)));
            ready!(timer.as_mut().poll(cx));
            self.timer = None;
            if self.action != Action::HoldEvents {
                return Poll::Ready(());
            }
        }
    }
}

impl http_body::Body for WorldBody {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let Self { inner, faults } = self.get_mut();
        let mut next = |cx: &mut Context<'_>| {
            Pin::new(&mut *inner).poll_frame(cx).map(|frame| {
                frame.map(|frame| {
                    frame.map(|frame| frame.map_data(|mut chunk| chunk.copy_to_bytes(chunk.remaining())))
                })
            })
        };
        let Some(faults) = faults else { return next(cx) };
        loop {
            if matches!(faults.action, Action::CutEvents(count) if faults.sent >= count) {
                return Poll::Ready(None);
            }
            if !faults.events.is_empty() {
                ready!(faults.poll_ready(cx));
                faults.sent += 1;
                return Poll::Ready(faults.events.pop_front().map(|event| Ok(Frame::data(event))));
            }
            if faults.ended {
                return Poll::Ready(None);
            }
            match ready!(next(cx)) {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        faults.partial.extend_from_slice(&data);
                        faults.split();
                    }
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => faults.ended = true,
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.faults.is_none() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.faults.is_some() { SizeHint::default() } else { self.inner.size_hint() }
    }
}
