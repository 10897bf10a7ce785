//! The body of a response: read to its end and decompressed, within bounds.
//!
//! There is a bound on each response and one on all together. A response for which there is no room waits, unread,
//! until there is or its deadline has passed; small ones are not counted.

use std::io::Read as _;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use flate2::read::MultiGzDecoder;
use http::{HeaderMap, header};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Incoming};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::errors;

/// How many bytes any response may have. Upstream reads without a bound; a response is about as long as its request,
/// so a long request allows a longer one.
const ROOM: usize = 16 << 20;
const TIMES_SENT: usize = 8;
/// How many bytes all responses may have together, and how many each may have without being counted.
const ALL: usize = 128 << 20;
const SMALL: usize = 64 << 10;
/// The unit in which bytes are counted: a semaphore takes no more than 32 bits at a time.
const UNIT: usize = 1024;
/// How many bytes are decompressed at a time.
const PIECE: usize = 64 << 10;

/// Memory for responses.
#[derive(Debug)]
pub(crate) struct Budget(Arc<Semaphore>);

impl Default for Budget {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(ALL / UNIT)))
    }
}

impl Budget {
    /// The whole body, which keeps its share of the budget until it is dropped; the error is the reason alone.
    pub(crate) async fn read(
        &self,
        mut body: Incoming,
        headers: &HeaderMap,
        sent: usize,
    ) -> Result<Bytes, String> {
        let bound = ROOM.max(sent.saturating_mul(TIMES_SENT)).min(ALL / 2);
        let mut share = Share { budget: self.0.clone(), permit: None };
        // All at once where the length is known: two responses with half of their memory each would wait for ever.
        let length = body.size_hint().exact().and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
        if length > bound {
            return Err(too_large(bound));
        }
        share.grow_to(length).await;
        let mut all = BytesMut::with_capacity(length);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| errors::of_body(&error))?;
            if let Ok(data) = frame.into_data() {
                if all.len() + data.len() > bound {
                    return Err(too_large(bound));
                }
                share.grow_to(all.len() + data.len()).await;
                all.extend_from_slice(&data);
            }
        }
        let packed = headers
            .get(header::CONTENT_ENCODING)
            .is_some_and(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"gzip"));
        let content = if packed && !all.is_empty() {
            decompress(&all, bound, &mut share).await?.into()
        } else {
            all.freeze()
        };
        Ok(if share.permit.is_some() {
            Bytes::from_owner(CountedBody { content, _share: share })
        } else {
            content
        })
    }
}

/// A response's share of the budget.
struct Share {
    budget: Arc<Semaphore>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Share {
    /// Waits until there is room for so many bytes.
    async fn grow_to(&mut self, bytes: usize) {
        let units = bytes.saturating_sub(SMALL).div_ceil(UNIT);
        let more = units.saturating_sub(self.permit.as_ref().map_or(0, OwnedSemaphorePermit::num_permits));
        if more == 0 {
            return;
        }
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        let Ok(more) = self.budget.clone().acquire_many_owned(more).await else { return };
        match &mut self.permit {
            Some(permit) => permit.merge(more),
            none => *none = Some(more),
        }
    }
}

/// A body with its share of the budget.
struct CountedBody {
    content: Bytes,
    _share: Share,
}

impl AsRef<[u8]> for CountedBody {
    fn as_ref(&self) -> &[u8] {
        &self.content
    }
}

/// The error of a body that could not be read.
pub(crate) fn unreadable(reason: &str) -> String {
    format!("unexpected error when reading response body. Please retry. Original error: {reason}")
}

fn too_large(bound: usize) -> String {
    format!("the body is larger than the {bound} bytes that are allowed")
}

async fn decompress(packed: &[u8], bound: usize, share: &mut Share) -> Result<Vec<u8>, String> {
    const HEADER: [u8; 3] = [0x1f, 0x8b, 8];
    if packed.len() >= 10 && !packed.starts_with(&HEADER) {
        return Err("gzip: invalid header".to_owned());
    }
    let mut decoder = MultiGzDecoder::new(packed);
    let mut out = Vec::new();
    loop {
        let piece = decoder.by_ref().take(PIECE as u64).read_to_end(&mut out).map_err(|error| {
            match error.kind() {
                std::io::ErrorKind::UnexpectedEof => "unexpected EOF",
                _ if packed.len() < 10 => "unexpected EOF",
                _ => "gzip: invalid checksum",
            }
            .to_owned()
        })?;
        if piece == 0 {
            return Ok(out);
        }
        if out.len() > bound {
            return Err(too_large(bound));
        }
        share.grow_to(packed.len() + out.len() + PIECE).await;
        tokio::task::yield_now().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn large_responses_share_a_budget_and_small_ones_do_not() {
        let budget = Budget::default();
        let share = || Share { budget: budget.0.clone(), permit: None };
        let free = || budget.0.available_permits() * UNIT;
        let (mut small, mut large, mut other) = (share(), share(), share());
        small.grow_to(SMALL).await;
        assert_eq!(free(), ALL);
        large.grow_to(SMALL + UNIT + 1).await;
        assert_eq!(free(), ALL - 2 * UNIT);
        large.grow_to(ALL / 2).await;
        other.grow_to(ALL / 2).await;
        let mut late = share();
        let mut waits = Box::pin(late.grow_to(ALL / 2));
        let waiting = tokio::time::timeout(std::time::Duration::from_millis(1), &mut waits).await;
        assert!(waiting.is_err(), "there is no room");
        drop(large);
        waits.await;
        drop((other, late));
        assert_eq!(free(), ALL);
    }

    #[tokio::test]
    async fn a_compressed_body_beyond_its_bound_is_refused_early() {
        use std::io::Write as _;
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(&vec![b' '; 1 << 20]).expect("memory takes everything");
        // Several gzip members in a row are one content.
        let packed = packer.finish().expect("memory takes everything").repeat(64);
        let budget = Budget::default();
        let mut share = Share { budget: budget.0.clone(), permit: None };
        let refused = decompress(&packed, 1 << 20, &mut share).await;
        assert_eq!(refused, Err(too_large(1 << 20)));
        let held = share.permit.as_ref().map_or(0, OwnedSemaphorePermit::num_permits) * UNIT;
        assert!(held < 2 << 20, "{held} bytes were taken");
    }
}
