//! LIST: objects of a collection, with selectors and pagination.

use futures_util::{StreamExt as _, stream};
use pleach_json::{InternedObjects, Value};
use pleach_meta::StatusCause;
use pleach_store::{Key, RangeQuery, Revision, StoreError, Versioned};

use crate::engine::Engine;
use crate::object::Object;
use crate::options::{Freshness, ListOptions};
use crate::record::{self, Record};
use crate::rejection::Rejection;
use crate::select::Selection;
use crate::target::Target;
use crate::token::Token;

/// A page with selectors is filled from fetches that grow to this size.
const LARGEST_FETCH: usize = 10_000;
/// About how many objects of a list are sent to a conversion webhook at once.
const CONVERSIONS_AT_ONCE: usize = 16;

/// So many bytes of objects that had to be converted are kept as values; the rest as text, which takes an eighth of
/// the memory.
const CONVERTED_BYTES: usize = 4 << 20;

/// How many objects that cannot be decoded are named, as upstream does.
const MOST_UNREADABLE: usize = 100;

/// Objects, and the state they were read from.
#[derive(Debug)]
pub struct Listing {
    /// The objects, in key order.
    pub items: Vec<Object>,
    /// The state they were read from.
    pub revision: Revision,
    /// The token of the next page, if there is one.
    pub next: Option<String>,
    /// How many objects follow this page, where that is known.
    pub remaining: Option<u64>,
}

impl Engine {
    /// The objects of a collection.
    pub async fn list(&self, target: &Target, options: &ListOptions) -> Result<Listing, Rejection> {
        let selection = Selection::new(target, &options.labels, &options.fields)?;
        let token = options.continue_token.as_deref().map(Token::decode).transpose()?;
        let cached = self.cached_at(options.freshness).filter(|_| token.is_none());
        if cached.is_none() {
            self.await_freshness(options.freshness).await?;
        }
        let at = match (&token, options.freshness) {
            (Some(token), _) => token.revision.map(Revision),
            (None, Freshness::Exact(revision)) => Some(Revision(revision)),
            _ => cached,
        };
        let prefix = target.prefix();
        if token.is_none()
            && at == cached
            && let Some(key) = selection.only_key(target)
        {
            return self.list_one(target, &selection, key, at).await;
        }
        let start = match &token {
            Some(token) => format!("{prefix}{}", token.start),
            None => prefix.clone(),
        };
        let expired = |error| expired(error, token.as_ref());
        self.list_range(target, &selection, options.limit, &prefix, start, at).await.map_err(expired)?
    }

    async fn list_one(
        &self,
        target: &Target,
        selection: &Selection<'_>,
        key: Key,
        at: Option<Revision>,
    ) -> Result<Listing, Rejection> {
        let (revision, stored) = match at {
            Some(at) => (at, self.stored_at(&key, at).await?),
            None => {
                let revision = self.store.revision().await.map_err(Rejection::from_store)?;
                let stored = self.stored(&key).await?;
                // The object may have been written in between.
                let written = stored.as_ref().map_or(revision, |record| record.revision);
                (revision.max(written), stored)
            }
        };
        let mut items = Vec::new();
        if let Some(record) = stored {
            let object = self.serve(&target.kind, target.version, record).await;
            let taken = object.and_then(|object| Ok(selection.takes(&key, &object)?.then_some(object)));
            items.extend(taken.map_err(|rejection| unreadable(target, rejection.about(&key)))?);
        }
        Ok(Listing { items, revision, next: None, remaining: None })
    }

    /// An object of a list, if it is selected.
    async fn take(
        &self,
        target: &Target,
        selection: &Selection<'_>,
        versioned: &Versioned,
    ) -> Result<Option<Object>, Rejection> {
        if !selection.may_take(&versioned.key) {
            return Ok(None);
        }
        let taken = async {
            let record = Record::open(versioned.value.clone(), versioned.revision)?;
            let object = self.serve(&target.kind, target.version, record).await?;
            Ok(selection.takes(&versioned.key, &object)?.then_some(object))
        };
        taken.await.map_err(|rejection: Rejection| rejection.about(&versioned.key))
    }

    async fn list_range(
        &self,
        target: &Target,
        selection: &Selection<'_>,
        limit: Option<usize>,
        prefix: &str,
        start: String,
        at: Option<Revision>,
    ) -> Result<Result<Listing, Rejection>, StoreError> {
        let end = Key::prefix_end(prefix);
        let (mut items, mut unreadable) = (Vec::new(), Unreadable::default());
        let mut query = RangeQuery { start: Key::new(start), end, limit, at };
        let mut converted = 0;
        loop {
            let range = self.store.range(query.clone()).await?;
            if query.start.as_str() == prefix {
                self.list_sizes.note(target, &range);
            }
            let last = range.items.last().map(|item| item.key.clone());
            // Conversion webhooks are called ahead, for several objects at once.
            let mut ahead = target.kind.has_conversion_webhook().then(|| {
                let all = range.items.iter().map(|item| self.take(target, selection, item));
                stream::iter(all).buffered(CONVERSIONS_AT_ONCE).boxed()
            });
            for (index, versioned) in range.items.iter().enumerate() {
                let taken = match &mut ahead {
                    Some(ahead) => ahead.next().await.unwrap_or(Ok(None)),
                    None => self.take(target, selection, versioned).await,
                };
                match taken {
                    Ok(Some(Object::Value(value))) => {
                        converted += versioned.value.len();
                        items.push(if converted > CONVERTED_BYTES {
                            as_text(value, versioned.revision)
                        } else {
                            Object::Value(value)
                        });
                    }
                    Ok(Some(stored)) => items.push(stored),
                    Ok(None) => {}
                    Err(rejection) => {
                        if let Err(rejection) = unreadable.add(rejection) {
                            return Ok(Err(rejection));
                        }
                    }
                }
                let full = limit.is_some_and(|limit| items.len() >= limit);
                let more = range.more || index + 1 < range.items.len();
                if full && more {
                    if let Err(rejection) = unreadable.done(target) {
                        return Ok(Err(rejection));
                    }
                    let next = next_token(prefix, &versioned.key, range.revision, at);
                    let remaining = selection.is_everything().then_some(range.remaining);
                    return Ok(Ok(Listing { items, revision: range.revision, next: Some(next), remaining }));
                }
            }
            let Some(last) = last.filter(|_| range.more && !unreadable.is_full()) else {
                if let Err(rejection) = unreadable.done(target) {
                    return Ok(Err(rejection));
                }
                return Ok(Ok(Listing { items, revision: range.revision, next: None, remaining: None }));
            };
            // The page is not full yet: look on in the same snapshot, in larger steps.
            query.start = Key::new(format!("{last}\0"));
            query.at = Some(range.revision);
            query.limit = query.limit.map(|limit| (limit * 2).min(LARGEST_FETCH));
        }
    }
}

/// A value as text.
fn as_text(mut value: Value, revision: Revision) -> Object {
    let bytes = record::encode(&mut value, 0, &InternedObjects::default());
    match Record::open(bytes, revision) {
        Ok(record) => Object::Stored(record),
        Err(_) => Object::Value(value),
    }
}

/// The objects of a list that cannot be decoded: the error names all of them.
#[derive(Default)]
struct Unreadable(Vec<StatusCause>);

impl Unreadable {
    /// Records an object that cannot be decoded. Returns other rejections.
    fn add(&mut self, rejection: Rejection) -> Result<(), Rejection> {
        let Rejection::Unreadable { key, .. } = &rejection else { return Err(rejection) };
        if !self.is_full() {
            let field = key.clone();
            let message = rejection.unreadable_text().unwrap_or_default();
            self.0.push(StatusCause { reason: "UnexpectedServerResponse".into(), message, field });
        } else if self.0.len() == MOST_UNREADABLE {
            self.0.push(StatusCause {
                reason: "FieldValueTooMany".into(),
                message: "too many errors, the list is truncated".into(),
                field: String::new(),
            });
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.0.len() >= MOST_UNREADABLE
    }

    fn done(&mut self, target: &Target) -> Result<(), Rejection> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(Rejection::UnreadableList {
            subject: target.subject(),
            prefix: target.prefix(),
            causes: std::mem::take(&mut self.0),
        })
    }
}

/// The error of a list with an object that cannot be decoded.
fn unreadable(target: &Target, rejection: Rejection) -> Rejection {
    let mut unreadable = Unreadable::default();
    match unreadable.add(rejection).and_then(|()| unreadable.done(target)) {
        Err(rejection) => rejection,
        Ok(()) => Rejection::internal("a list without its objects"),
    }
}

fn next_token(prefix: &str, last: &Key, revision: Revision, at: Option<Revision>) -> String {
    let start = format!("{}\0", &last.as_str()[prefix.len()..]);
    Token { revision: Some(at.unwrap_or(revision).0), start }.encode()
}

/// The error of a paged list whose snapshot was compacted: it has a token to continue without it.
fn expired(error: StoreError, token: Option<&Token>) -> Rejection {
    match (&error, token) {
        (StoreError::Compacted { .. }, Some(token)) => Rejection::Expired {
            message: "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.".into(),
            resume: Some(Token { revision: None, start: token.start.clone() }.encode()),
        },
        _ => Rejection::from_store(error),
    }
}

/// The name and namespace in a key below `prefix` of a whole resource.
pub(crate) fn split_key<'a>(resource_prefix: &str, key: &'a str, namespaced: bool) -> (&'a str, &'a str) {
    let rest = &key[resource_prefix.len()..];
    if namespaced { rest.split_once('/').unwrap_or(("", rest)) } else { ("", rest) }
}

#[cfg(test)]
mod tests;
