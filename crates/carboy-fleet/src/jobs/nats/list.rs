//! Lists of jobs: the newest tickets of a tenant, many with one request.
//!
//! Since 2.11 a broker answers one question with many messages, and says how many more there are. So it is asked from where
//! in the stream on there are as many as are wanted, and then for these. An older one is asked for each ticket.

use async_nats::StatusCode;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use serde_json::json;
use tokio::time::timeout;

use super::super::{Listed, QueueError, Ticket, streams};
use super::{ANSWER, NatsJobs, unavailable};

/// How many tickets a list reads at most.
const READ: u64 = 1_000;

/// How many messages of the stream are looked at first.
const FIRST_LOOK: u64 = 1 << 10;

/// How many requests a list has under way at once.
const AT_ONCE: usize = 16;

/// How an answer says that there are no more.
const NO_MORE: u16 = 204;

impl NatsJobs {
    /// A tenant's jobs, the newest first.
    pub(super) async fn listed(
        &self,
        tenant: &str,
        most: usize,
    ) -> Result<Vec<Listed>, QueueError> {
        let mut tickets = if self.client.is_server_compatible(2, 11, 0) {
            self.newest(tenant, most as u64).await?
        } else {
            self.one_by_one(tenant).await?
        };
        tickets.sort_by_key(|ticket| std::cmp::Reverse(ticket.accepted_ms));
        tickets.truncate(most);
        let look = |ticket: Ticket| async move {
            let has_ended = self.has_result(&ticket).await?;
            Ok(Listed { ticket, has_ended })
        };
        let looks: Vec<_> = tickets.into_iter().map(look).collect();
        let listed: Vec<Result<Listed, QueueError>> =
            stream::iter(looks).buffered(AT_ONCE).collect().await;
        listed.into_iter().collect()
    }

    /// At least as many of a tenant's newest tickets, if there are as many.
    async fn newest(&self, tenant: &str, most: u64) -> Result<Vec<Ticket>, QueueError> {
        let stream = self.context.get_stream(streams::ASK).await.map_err(unavailable)?;
        let state = &stream.cached_info().state;
        // An empty stream begins at 0, and has no message there.
        let (first, last) = (state.first_sequence.max(1), state.last_sequence);
        // So many of the last messages have too few of this tenant, and so many have too many to read.
        let (mut few, mut many) = (0, None);
        let mut range = FIRST_LOOK;
        loop {
            let start = last.saturating_add(1).saturating_sub(range).max(first);
            let (one, more) = self.tickets_from(tenant, start, 1).await?;
            let count = more.saturating_add(one.len() as u64);
            let is_enough = count >= most || start <= first;
            let is_narrow = many.is_some_and(|many: u64| many.saturating_sub(few) <= 1);
            if count == 0 && is_enough {
                return Ok(vec![]);
            }
            if is_enough && count <= READ || is_narrow {
                let (found, _) = self.tickets_from(tenant, start, count.clamp(1, READ)).await?;
                // What cannot be read is left to gateways that can.
                let read = |bytes: &Bytes| serde_json::from_slice(bytes).ok();
                return Ok(found.iter().filter_map(read).collect());
            }
            if count > READ {
                many = Some(range);
            } else {
                few = range;
            }
            range = many.map_or(range.saturating_mul(16), |many| few + (many - few).div_ceil(2));
        }
    }

    /// A tenant's tickets from a place in the stream on, at most so many, and how many more there are.
    async fn tickets_from(
        &self,
        tenant: &str,
        start: u64,
        most: u64,
    ) -> Result<(Vec<Bytes>, u64), QueueError> {
        let inbox = self.client.new_inbox();
        let mut answers = self.client.subscribe(inbox.clone()).await.map_err(unavailable)?;
        let of = streams::ask(tenant, "") + "*";
        let ask = json!({ "seq": start, "batch": most, "next_by_subj": of }).to_string();
        let place = format!("$JS.API.DIRECT.GET.{}", streams::ASK);
        let asking = self.client.publish_with_reply(place, inbox, ask.into());
        asking.await.map_err(unavailable)?;
        let mut found = vec![];
        loop {
            let late = |_late| unavailable("a list of tickets does not come");
            let message = timeout(ANSWER, answers.next()).await.map_err(late)?;
            let message = message.ok_or_else(|| unavailable("the connection ended"))?;
            match message.status {
                None if found.len() as u64 <= most => found.push(message.payload),
                None => return Err(unavailable("more tickets came than were asked for")),
                Some(StatusCode::NOT_FOUND) => return Ok((found, 0)),
                Some(status) if status.as_u16() == NO_MORE => {
                    let header = message.headers.as_ref();
                    let more = header.and_then(|header| header.get("Nats-Num-Pending"));
                    let more = more.and_then(|more| more.as_str().parse().ok()).unwrap_or(0);
                    return Ok((found, more));
                }
                Some(status) => return Err(unavailable(format!("a list of tickets: {status}"))),
            }
        }
    }

    /// Some of a tenant's tickets, from a broker that gives one at a time.
    async fn one_by_one(&self, tenant: &str) -> Result<Vec<Ticket>, QueueError> {
        let names = self.subjects(streams::ASK, streams::ask(tenant, "") + "*").await?;
        let read = |subject: String| async move { self.last(streams::ASK, &subject).await };
        let reads: Vec<_> = names.into_iter().map(read).collect();
        let tickets: Vec<Result<Option<Ticket>, QueueError>> =
            stream::iter(reads).buffer_unordered(AT_ONCE).collect().await;
        tickets.into_iter().filter_map(Result::transpose).collect()
    }

    /// Whether there is a result, without reading it: it may be long.
    async fn has_result(&self, ticket: &Ticket) -> Result<bool, QueueError> {
        let subject = streams::result(&ticket.tenant, &ticket.id);
        Ok(!self.subjects(streams::RESULTS, subject).await?.is_empty())
    }

    /// The subjects of a stream, of which there may be many: only so many are looked at.
    pub(super) async fn subjects(
        &self,
        stream: &str,
        among: String,
    ) -> Result<Vec<String>, QueueError> {
        let stream = self.context.get_stream_no_info(stream).await.map_err(unavailable)?;
        let info = stream.info_builder().subjects(among).fetch();
        let names = info.await.map_err(unavailable)?.take(READ as usize);
        let names: Vec<_> = names.collect().await;
        names.into_iter().map(|name| name.map(|(name, _)| name).map_err(unavailable)).collect()
    }
}
