//! What a [`JobQueue`] promises, in terms of streams.

use std::sync::atomic::Ordering;
use std::time::Duration;

use async_nats::jetstream::AckKind;
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::message::{Acker, Message};
use async_nats::jetstream::stream::{DirectGetErrorKind, LastRawMessageErrorKind};
use bytes::Bytes;
use carboy_protocol::Job;
use futures_util::stream::StreamExt;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;
use tokio::time::timeout;

use super::super::streams::{self, HOOKS_CONSUMER};
use super::super::{
    Claim, Class, Ended, Ending, Failed, JobQueue, Listed, Notice, Order, Published, QueueError,
    Stored, Ticket,
};
use super::{ANSWER, NatsJobs, Once, PATIENCE, Sent, unavailable, written};

/// An end that a webhook is to be told of.
#[derive(Serialize, Deserialize)]
struct Told {
    tenant: String,
    id: String,
}

impl NatsJobs {
    /// The message of a subject, as the leader of the stream has it.
    async fn last_bytes(&self, stream: &str, subject: &str) -> Result<Option<Bytes>, QueueError> {
        let stream = self.context.get_stream_no_info(stream).await.map_err(unavailable)?;
        match stream.get_last_raw_message_by_subject(subject).await {
            Ok(message) => Ok(Some(message.payload)),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(unavailable(error)),
        }
    }

    /// The same, read.
    pub(super) async fn last<T: DeserializeOwned>(
        &self,
        stream: &str,
        subject: &str,
    ) -> Result<Option<T>, QueueError> {
        let Some(bytes) = self.last_bytes(stream, subject).await? else { return Ok(None) };
        serde_json::from_slice(&bytes).map(Some).map_err(unavailable)
    }

    async fn stored(&self, ended: &Ended, notify: bool) -> Result<Stored, QueueError> {
        let subject = streams::result(&ended.tenant, &ended.id);
        let stored = match self.send(&subject, written(ended)?, Once::OfSubject).await? {
            Sent::Kept => Stored::First,
            Sent::Taken => Stored::Late,
            Sent::Full => return Err(unavailable("the stream of results is full")),
        };
        if notify {
            // Also if it is late: whoever was first may have died before this.
            let told = Told { tenant: ended.tenant.clone(), id: ended.id.clone() };
            let subject = streams::hook(&ended.tenant);
            if let Sent::Full = self.send(&subject, written(&told)?, Once::OfId(&ended.id)).await? {
                return Err(unavailable("the stream of webhooks is full"));
            }
        }
        Ok(stored)
    }

    /// Orders of one consumer that nobody else has, without waiting for any.
    async fn fetch(
        &self,
        stream: &str,
        name: &str,
        known: &OnceCell<PullConsumer>,
        most: usize,
    ) -> Result<Vec<Message>, QueueError> {
        let find = || self.context.get_consumer_from_stream(name, stream);
        let consumer = known.get_or_try_init(find).await.map_err(unavailable)?;
        let fetching = consumer.fetch().max_messages(most).messages();
        let mut batch = fetching.await.map_err(unavailable)?;
        let mut got = vec![];
        while got.len() < most {
            match timeout(ANSWER, batch.next()).await {
                Ok(Some(Ok(message))) => got.push(message),
                Ok(None) => break,
                // What did come is worked on; what did not comes to others.
                _ if !got.is_empty() => break,
                Ok(Some(Err(error))) => return Err(unavailable(error)),
                Err(_late) => return Err(unavailable("a consumer does not answer")),
            }
        }
        Ok(got)
    }

    /// What every consumer has, from a random one on, until there is enough.
    async fn sweep(&self, most: usize) -> Result<Vec<(Class, Message)>, QueueError> {
        let (count, mut got, mut failed) = (self.consumers.len(), vec![], None);
        let first = self.somewhere(count);
        for place in (0..count).map(|step| (first + step) % count) {
            let (class, name, known) = &self.consumers[place];
            match self.fetch(streams::JOBS, name, known, most - got.len()).await {
                Ok(messages) => got.extend(messages.into_iter().map(|message| (*class, message))),
                Err(error) => {
                    failed = Some(error);
                    // The others do not answer either.
                    break;
                }
            }
            if got.len() >= most {
                break;
            }
        }
        match failed {
            Some(error) if got.is_empty() => Err(error),
            _ => Ok(got),
        }
    }

    /// How many orders are not done.
    pub async fn left(&self) -> Result<u64, QueueError> {
        let stream = self.context.get_stream(streams::JOBS).await.map_err(unavailable)?;
        Ok(stream.cached_info().state.messages)
    }

    /// A tenant's orders that were given up.
    pub async fn dead_letters(&self, tenant: &str) -> Result<Vec<Order>, QueueError> {
        let mut orders = vec![];
        for name in self.subjects(streams::DEAD, streams::dead(tenant, "") + "*").await? {
            orders.extend(self.last(streams::DEAD, &name).await?);
        }
        Ok(orders)
    }

    fn claimed(&self, class: Class, message: Message) -> Option<Claim<Acker>> {
        let delivery = message.info().map_or(1, |info| info.delivered);
        let delivery = u32::try_from(delivery).unwrap_or(u32::MAX);
        let (message, lease) = message.split();
        // What cannot be read is left to workers that can, until it is too old.
        let order: Order = serde_json::from_slice(&message.payload).ok()?;
        let lease_time = streams::lease(class, self.options.bounds);
        Some(Claim { order, delivery, lease_time, lease })
    }
}

fn acknowledged(answer: Result<(), async_nats::Error>) -> Result<(), QueueError> {
    answer.map_err(unavailable)
}

impl JobQueue for NatsJobs {
    type Lease = Acker;

    async fn publish(&self, ticket: Ticket, job: Job) -> Result<Published, QueueError> {
        self.check_broker()?;
        let most = self.most();
        let order = ticket.order(self.options.gateway.clone(), job);
        let bytes = written(&order)?.len();
        if bytes > most {
            return Err(QueueError::TooLong { bytes, most });
        }
        let subject = streams::ask(&ticket.tenant, &ticket.id);
        let mut published = Published::New;
        let mut order = order;
        match self.send(&subject, written(&ticket)?, Once::OfSubject).await? {
            Sent::Kept => {}
            Sent::Full => return Err(unavailable("the stream of tickets is full")),
            Sent::Taken => {
                let gone = || unavailable("a ticket was removed at this moment");
                let first: Ticket = self.last(streams::ASK, &subject).await?.ok_or_else(gone)?;
                if first.digest != ticket.digest {
                    return Err(QueueError::Taken);
                }
                if self.result(&first).await?.is_some() {
                    return Ok(Published::Again);
                }
                // Whoever wrote it may have died before the order was queued. A second one is known by its id.
                published = Published::Again;
                order.token = first.token;
            }
        }
        let class = Class::of(&order.job);
        let payload = written(&order)?;
        let mut shards = streams::shards(&ticket.tenant).to_vec();
        shards.rotate_left(self.somewhere(2));
        if published == Published::New && !self.has_room(&ticket.tenant, payload.len()).await? {
            shards.clear();
        }
        let mut refused = QueueError::Full;
        for shard in shards {
            let place = streams::job(class, shard, &ticket.tenant);
            match self.send(&place, payload.clone(), Once::OfId(&ticket.id)).await {
                Ok(Sent::Full) => {}
                Err(QueueError::NoSpace) => refused = QueueError::NoSpace,
                Err(error) => return Err(error),
                Ok(Sent::Kept | Sent::Taken) => {
                    // Nothing is lost without it but time.
                    self.client.publish(streams::WAKE, vec![0].into()).await.ok();
                    return Ok(published);
                }
            }
        }
        if published == Published::New
            && let Ok(stream) = self.context.get_stream_no_info(streams::ASK).await
        {
            // Nobody was told of it. If it stays it is forgotten with the others.
            stream.purge().filter(subject).await.ok();
        }
        Err(refused)
    }

    async fn claim(&self, most: usize) -> Result<Vec<Claim<Acker>>, QueueError> {
        self.check_broker()?;
        let woken = self.woken.notified();
        let mut got = self.sweep(most).await?;
        if got.is_empty() {
            self.idle.fetch_add(1, Ordering::Relaxed);
            let _idle = Idle(self);
            if timeout(PATIENCE, woken).await.is_ok() {
                got = self.sweep(most).await?;
            }
        }
        let claims = got.into_iter().filter_map(|(class, message)| self.claimed(class, message));
        Ok(claims.collect())
    }

    async fn extend(&self, lease: &Acker) -> Result<(), QueueError> {
        acknowledged(lease.ack_with(AckKind::Progress).await)
    }

    async fn store(&self, order: &Order, ended: &Ended) -> Result<Stored, QueueError> {
        let stored = self.stored(ended, order.notify).await?;
        let done = streams::done(&order.gateway);
        // Whoever waits looks every second too.
        self.client.publish(done, order.id.clone().into()).await.ok();
        Ok(stored)
    }

    async fn bury(&self, order: &Order) -> Result<(), QueueError> {
        let subject = streams::dead(&order.tenant, &order.id);
        self.send(&subject, written(order)?, Once::OfId(&order.id)).await?;
        Ok(())
    }

    async fn done(&self, lease: Acker) -> Result<(), QueueError> {
        acknowledged(lease.double_ack().await)
    }

    async fn release(&self, lease: Acker, after: Duration) -> Result<(), QueueError> {
        acknowledged(lease.ack_with(AckKind::Nak(Some(after))).await)
    }

    async fn is_cancelled(&self, order: &Order) -> Result<bool, QueueError> {
        let stream = self.context.get_stream_no_info(streams::ASK).await.map_err(unavailable)?;
        let stop = streams::stop(&order.tenant, &order.id);
        match stream.direct_get_builder().last_by_subject(stop).send().await {
            Ok(stop) => Ok(stop.payload == order.stop_mark().as_bytes()),
            Err(error) if error.kind() == DirectGetErrorKind::NotFound => Ok(false),
            Err(error) => Err(unavailable(error)),
        }
    }

    async fn cancelling(&self, order: &Order) {
        self.cancels.enter(&order.stop_mark()).woken().await;
    }

    async fn ticket(&self, tenant: &str, id: &str) -> Result<Option<Ticket>, QueueError> {
        self.last(streams::ASK, &streams::ask(tenant, id)).await
    }

    async fn result(&self, ticket: &Ticket) -> Result<Option<Ended>, QueueError> {
        let subject = streams::result(&ticket.tenant, &ticket.id);
        let Some(bytes) = self.last_bytes(streams::RESULTS, &subject).await? else {
            return Ok(None);
        };
        // What cannot be read stays as it is, so it is no reason to ask again.
        let ended = serde_json::from_slice(&bytes).ok().filter(|ended| ticket.takes(ended));
        Ok(Some(ended.unwrap_or_else(|| ticket.ended(forged()))))
    }

    async fn ending(&self, ticket: &Ticket) {
        let waiter = self.ends.enter(&ticket.id);
        // A second without news is no error.
        timeout(PATIENCE, waiter.woken()).await.ok();
    }

    async fn cancel(&self, ticket: &Ticket) -> Result<Stored, QueueError> {
        let ended = ticket.ended(Ending::Cancelled);
        let stored = self.stored(&ended, ticket.webhook.is_some()).await?;
        let is_cancelled = stored == Stored::First
            || (self.result(ticket).await?)
                .is_some_and(|ended| matches!(ended.ending, Ending::Cancelled));
        // Also if it is late: whoever was first may have died before this.
        if is_cancelled {
            // Workers hear it, and the mark stays for those who get the order later.
            let stop = streams::stop(&ticket.tenant, &ticket.id);
            self.send(&stop, ticket.stop_mark().into(), Once::OfSubject).await?;
        }
        self.ends.wake(&ticket.id);
        self.noticed.notify_one();
        Ok(stored)
    }

    async fn list(&self, tenant: &str, most: usize) -> Result<Vec<Listed>, QueueError> {
        self.listed(tenant, most).await
    }

    async fn notices(&self, most: usize) -> Result<Vec<Notice<Acker>>, QueueError> {
        self.check_broker()?;
        let noticed = self.noticed.notified();
        let fetch = || self.fetch(streams::HOOKS, HOOKS_CONSUMER, &self.hooks, most);
        let mut got = fetch().await?;
        if got.is_empty() && timeout(PATIENCE, noticed).await.is_ok() {
            got = fetch().await?;
        }
        let mut notices = vec![];
        for message in got {
            let attempt = message.info().map_or(1, |info| info.delivered);
            let attempt = u32::try_from(attempt).unwrap_or(u32::MAX);
            let (message, lease) = message.split();
            if let Ok(Told { tenant, id }) = serde_json::from_slice(&message.payload) {
                notices.push(Notice { id, tenant, attempt, lease });
            } else {
                // Nobody will be able to read it. If the broker does not hear this, it comes again.
                lease.ack_with(AckKind::Term).await.ok();
            }
        }
        Ok(notices)
    }
}

/// One claim less waits.
struct Idle<'a>(&'a NatsJobs);

impl Drop for Idle<'_> {
    fn drop(&mut self) {
        self.0.idle.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Somebody wrote a result who did not know the job's token.
fn forged() -> Ending {
    Ending::Failed(Failed {
        code: "untrusted_result".into(),
        detail: "a result was stored by somebody who was not given this job".into(),
        hint: Some(
            "submit it again; the operator should look for a worker that was broken into".into(),
        ),
    })
}
