//! The body of an answer: it is kept for the log as the client takes it, and has the faults of watches: events that
//! are delayed, held back, left out, or not sent any more.

use std::collections::VecDeque;
use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

use crate::fault::Action;
use crate::request_log::Answer;
use crate::script::ConnectionReset;
use crate::watch_events::{WatchEvents, is_bookmark};

/// Any error of a body.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// How often events that are held back check whether their rule was removed.
const HELD: Duration = Duration::from_millis(10);

/// The body of an answer.
pub struct FaultyBody<B> {
    content: Content<B>,
    answer: Option<Answer>,
    faults: Option<Box<EventFaults>>,
    counter: Option<EventCounter>,
    /// Ready when the connection is cut.
    cut: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

enum Content<B> {
    /// An answer of a fault rule.
    Full(Option<Bytes>),
    /// The server's.
    Of(B),
}

impl<B> FaultyBody<B> {
    /// Bytes of our own.
    pub(crate) fn full(bytes: Vec<u8>) -> Self {
        Self {
            content: Content::Full(Some(bytes.into())),
            answer: None,
            faults: None,
            counter: None,
            cut: None,
        }
    }

    /// The server's body. What is taken of it is kept in `answer`.
    pub(crate) fn new(body: B, answer: Answer) -> Self {
        Self { content: Content::Of(body), answer: Some(answer), faults: None, counter: None, cut: None }
    }

    /// Ends with an error when `cut` is ready.
    pub(crate) fn until(mut self, cut: impl Future<Output = ()> + Send + 'static) -> Self {
        self.cut = Some(Box::pin(cut));
        self
    }

    /// Notes in the log, for each event that is sent, which request was the last before it. `next_request` is the
    /// number of the next one.
    pub(crate) fn counting(mut self, content_type: &str, next_request: Arc<AtomicU64>) -> Self {
        self.counter = Some(EventCounter { sent: WatchEvents::new(content_type), next_request });
        self
    }

    /// The events of a watch, with faults. `is_active` is false once the rule is removed.
    pub(crate) fn with_fault(
        mut self,
        action: Action,
        content_type: &str,
        is_active: Arc<AtomicBool>,
    ) -> Self {
        self.faults = Some(Box::new(EventFaults {
            action,
            is_active,
            received: WatchEvents::new(content_type),
            events: VecDeque::new(),
            sent: 0,
            timer: None,
            ended: false,
        }));
        self
    }
}

impl<B: Body<Data: Buf, Error: Into<BoxError>> + Unpin> FaultyBody<B> {
    /// The next bytes of the server.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.content {
            Content::Full(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Content::Of(body) => {
                let frame = ready!(Pin::new(body).poll_frame(cx));
                let frame = frame.map(|frame| {
                    frame
                        .map(|frame| frame.map_data(|mut data| data.copy_to_bytes(data.remaining())))
                        .map_err(Into::into)
                });
                if let (Some(answer), Some(Ok(frame))) = (&self.answer, &frame)
                    && let Some(data) = frame.data_ref()
                {
                    answer.push(data);
                }
                Poll::Ready(frame)
            }
        }
    }

    /// The next bytes for the client.
    fn poll_sent(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        loop {
            let Some(faults) = &mut self.faults else { return self.poll_next(cx) };
            if let Some(event) = faults.poll_event(cx) {
                return event.map(|event| event.map(Ok));
            }
            let next = ready!(self.poll_next(cx));
            let Some(faults) = &mut self.faults else { return Poll::Ready(next) };
            match next {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        faults.received.push(&data);
                        faults.split();
                    }
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => faults.ended = true,
            }
        }
    }
}

/// The events that were sent.
struct EventCounter {
    sent: WatchEvents,
    next_request: Arc<AtomicU64>,
}

impl EventCounter {
    /// Notes the events in bytes that are sent now.
    fn note(&mut self, bytes: &[u8], answer: &Answer) {
        self.sent.push(bytes);
        while let Some(event) = self.sent.next() {
            if !is_bookmark(&event) {
                answer.note_event(self.next_request.load(Ordering::Acquire) - 1);
            }
        }
    }
}

/// A fault of a watch, and the bytes not sent yet.
struct EventFaults {
    action: Action,
    is_active: Arc<AtomicBool>,
    received: WatchEvents,
    events: VecDeque<Bytes>,
    sent: u64,
    timer: Option<Pin<Box<Sleep>>>,
    ended: bool,
}

impl EventFaults {
    /// Takes the complete events out of the received bytes.
    fn split(&mut self) {
        while let Some(event) = self.received.next() {
            if self.action != Action::WithholdBookmarks || !is_bookmark(&event) {
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

    /// The next event that may be sent; `None` if one has to come first.
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Option<Poll<Option<Frame<Bytes>>>> {
        if matches!(self.action, Action::CutEvents(count) if self.sent >= count) {
            return Some(Poll::Ready(None));
        }
        if !self.events.is_empty() {
            if self.poll_ready(cx).is_pending() {
                return Some(Poll::Pending);
            }
            self.sent += 1;
            return Some(Poll::Ready(self.events.pop_front().map(Frame::data)));
        }
        self.ended.then_some(Poll::Ready(None))
    }
}

impl<B: Body<Data: Buf, Error: Into<BoxError>> + Unpin> Body for FaultyBody<B> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        if let Some(cut) = &mut this.cut
            && cut.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(Some(Err(Box::new(ConnectionReset))));
        }
        let frame = ready!(this.poll_sent(cx));
        if let (Some(counter), Some(answer), Some(Ok(frame))) = (&mut this.counter, &this.answer, &frame)
            && let Some(data) = frame.data_ref()
        {
            counter.note(data, answer);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            _ if self.faults.is_some() => false,
            Content::Full(bytes) => bytes.is_none(),
            Content::Of(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            _ if self.faults.is_some() => SizeHint::default(),
            Content::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Content::Of(body) => body.size_hint(),
        }
    }
}
