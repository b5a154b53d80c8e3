//! A bus inside one process: for tests of the fleet, with the faults of a network on demand.
//!
//! It behaves as a broker does where that matters here: order holds between two who talk, a full subscription loses what
//! comes, and a request to nobody is reported.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::stream;
use tokio::sync::mpsc;

use crate::bus::{Bus, BusError, Message, Subscription};

/// Messages that wait in one subscription.
const WAITING: usize = 65_536;

/// The payload that a broker takes if nobody set it.
const PAYLOAD: usize = 1 << 20;

/// What happens to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives.
    Arrive,
    /// It is lost.
    Lost,
}

/// Decides what happens to each message.
type Fault = Arc<dyn Fn(&Message) -> Fate + Send + Sync>;

struct Listener {
    pattern: String,
    group: Option<&'static str>,
    connection: Arc<Connection>,
    messages: mpsc::Sender<Message>,
}

/// What all connections share: the broker.
#[derive(Default)]
struct Hub {
    listeners: Mutex<BTreeMap<u64, Listener>>,
    numbers: AtomicU64,
    fault: Mutex<Option<Fault>>,
    /// A subject whose listeners the broker does not know for now.
    hidden: Mutex<Option<String>>,
}

impl Hub {
    fn listeners(&self) -> MutexGuard<'_, BTreeMap<u64, Listener>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody was there to get it.
    fn deliver(&self, message: &Message) -> bool {
        let hidden = self.hidden.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if hidden.is_some_and(|hidden| hidden == message.subject) {
            return false;
        }
        let listeners = self.listeners();
        let mut met = false;
        let those = listeners.values().filter(|one| matches(&one.pattern, &message.subject));
        let mut groups: BTreeMap<&str, Vec<&Listener>> = BTreeMap::new();
        let mut chosen = Vec::new();
        for listener in those {
            match listener.group {
                Some(group) => groups.entry(group).or_default().push(listener),
                None => chosen.push(listener),
            }
        }
        // One of each group, in turn.
        let turn = self.numbers.fetch_add(1, Ordering::Relaxed) as usize;
        chosen.extend(groups.values().map(|members| members[turn % members.len()]));
        for listener in chosen {
            met = true;
            if listener.connection.passes() {
                // One that is full loses it, as with a broker.
                listener.messages.try_send(message.clone()).ok();
            }
        }
        met
    }
}

#[derive(Debug, Default)]
struct Connection {
    cut: AtomicBool,
    /// It is cut, and has not noticed.
    deaf: AtomicBool,
    ended: AtomicBool,
    connects: AtomicU64,
}

impl Connection {
    fn passes(&self) -> bool {
        !self.cut.load(Ordering::Relaxed) && !self.deaf.load(Ordering::Relaxed)
    }
}

/// One connection to a bus in this process.
#[derive(Clone)]
pub struct LocalBus {
    hub: Arc<Hub>,
    connection: Arc<Connection>,
    inbox: Arc<str>,
    max_payload: usize,
}

impl LocalBus {
    /// A bus of its own, and the first connection to it.
    pub fn new(inbox: &str) -> LocalBus {
        LocalBus {
            hub: Arc::default(),
            connection: Arc::default(),
            inbox: inbox.into(),
            max_payload: PAYLOAD,
        }
    }

    /// Another connection to the same bus.
    #[must_use]
    pub fn connect(&self, inbox: &str) -> LocalBus {
        let (hub, connection) = (self.hub.clone(), Arc::default());
        LocalBus { hub, connection, inbox: inbox.into(), max_payload: self.max_payload }
    }

    /// The same connection with another bound for payloads.
    #[must_use]
    pub fn with_max_payload(mut self, bytes: usize) -> LocalBus {
        self.max_payload = bytes;
        self
    }

    /// Cuts the wire, and says nothing to anybody: what passes meanwhile is lost, and others still see its subscriptions.
    pub fn cut(&self) {
        self.connection.cut.store(true, Ordering::Relaxed);
    }

    /// The same, and this connection has not noticed either: it says that it is connected.
    pub fn deafen(&self) {
        self.connection.deaf.store(true, Ordering::Relaxed);
    }

    /// Mends the wire. To this connection it is a new one.
    pub fn mend(&self) {
        self.connection.cut.store(false, Ordering::Relaxed);
        self.connection.deaf.store(false, Ordering::Relaxed);
        self.connection.connects.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends the connection, as the death of a process does: its subscriptions are gone.
    pub fn end(&self) {
        self.connection.ended.store(true, Ordering::Relaxed);
        self.hub.listeners().retain(|_, one| !Arc::ptr_eq(&one.connection, &self.connection));
    }

    /// Nobody listens to this subject any more, as far as the broker knows: as when it was started again, and those who do
    /// have not come back.
    pub fn hide(&self, subject: &str) {
        *self.hub.hidden.lock().unwrap_or_else(PoisonError::into_inner) = Some(subject.to_owned());
    }

    /// Everybody who listens is known again.
    pub fn show(&self) {
        *self.hub.hidden.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Decides from now on what happens to each message of all connections.
    pub fn set_fault(&self, fault: impl Fn(&Message) -> Fate + Send + Sync + 'static) {
        *self.hub.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(fault));
    }

    fn listen(
        &self,
        subject: String,
        group: Option<&'static str>,
    ) -> Result<Subscription, BusError> {
        self.check()?;
        let (messages, received) = mpsc::channel(WAITING);
        let number = self.hub.numbers.fetch_add(1, Ordering::Relaxed);
        let connection = self.connection.clone();
        self.hub
            .listeners()
            .insert(number, Listener { pattern: subject, group, connection, messages });
        let ended = Ended { hub: self.hub.clone(), number };
        Ok(Subscription::new(stream::unfold(
            (received, ended),
            |(mut received, ended)| async move {
                received.recv().await.map(|message| (message, (received, ended)))
            },
        )))
    }

    fn check(&self) -> Result<(), BusError> {
        if self.connection.ended.load(Ordering::Relaxed) { Err(BusError::Closed) } else { Ok(()) }
    }
}

impl std::fmt::Debug for LocalBus {
    fn fmt(&self, form: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        form.debug_struct("LocalBus").field("inbox", &self.inbox).finish_non_exhaustive()
    }
}

impl Bus for LocalBus {
    async fn publish(
        &self,
        subject: String,
        reply: Option<String>,
        payload: Bytes,
    ) -> Result<(), BusError> {
        self.check()?;
        if payload.len() > self.max_payload {
            return Err(BusError::TooLarge { bytes: payload.len(), most: self.max_payload });
        }
        if !self.connection.passes() {
            return Ok(());
        }
        let message = Message { subject, reply, payload, no_responders: false };
        let fault = self.hub.fault.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if fault.is_some_and(|fault| fault(&message) == Fate::Lost) {
            return Ok(());
        }
        if !self.hub.deliver(&message)
            && let Some(subject) = message.reply
        {
            let (payload, reply) = (Bytes::new(), None);
            self.hub.deliver(&Message { subject, reply, payload, no_responders: true });
        }
        Ok(())
    }

    async fn subscribe(&self, subject: String) -> Result<Subscription, BusError> {
        self.listen(subject, None)
    }

    async fn subscribe_in(
        &self,
        subject: String,
        group: &'static str,
    ) -> Result<Subscription, BusError> {
        self.listen(subject, Some(group))
    }

    async fn flush(&self) -> Result<(), BusError> {
        self.check()
    }

    fn max_payload(&self) -> usize {
        self.max_payload
    }

    fn inbox(&self) -> &str {
        &self.inbox
    }

    fn is_connected(&self) -> bool {
        let Connection { cut, ended, .. } = &*self.connection;
        !cut.load(Ordering::Relaxed) && !ended.load(Ordering::Relaxed)
    }

    fn connects(&self) -> u64 {
        self.connection.connects.load(Ordering::Relaxed)
    }

    async fn renew(&self) {
        if !self.connection.cut.load(Ordering::Relaxed) {
            self.mend();
        }
    }
}

/// Ends a subscription when it is dropped.
struct Ended {
    hub: Arc<Hub>,
    number: u64,
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.hub.listeners().remove(&self.number);
    }
}

/// Whether a subject is among those that a pattern stands for.
fn matches(pattern: &str, subject: &str) -> bool {
    let (mut pattern, mut subject) = (pattern.split('.'), subject.split('.'));
    loop {
        match (pattern.next(), subject.next()) {
            (Some(">"), Some(_)) | (None, None) => return true,
            (Some(word), Some(said)) if word == "*" || word == said => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn say(bus: &LocalBus, subject: &str, reply: Option<&str>, text: &'static str) {
        let payload = Bytes::from_static(text.as_bytes());
        bus.publish(subject.into(), reply.map(Into::into), payload).await.expect("published");
    }

    #[test]
    fn patterns_stand_for_words_of_a_subject() {
        for (pattern, subject, met) in [
            ("a.b", "a.b", true),
            ("a.*", "a.b", true),
            ("a.*", "a", false),
            ("a.*", "a.b.c", false),
            ("a.>", "a.b.c", true),
            ("a.>", "a", false),
            ("a.b", "a.c", false),
        ] {
            assert_eq!(matches(pattern, subject), met, "{pattern} {subject}");
        }
    }

    #[tokio::test]
    async fn a_request_to_nobody_is_reported_and_one_to_somebody_arrives() {
        let one = LocalBus::new("i.one");
        let two = one.connect("i.two");
        let mut replies = one.subscribe("i.one.>".into()).await.expect("subscribed");
        say(&one, "work", Some("i.one.1"), "?").await;
        let none = replies.next().await.expect("a report");
        assert!(none.no_responders && none.subject == "i.one.1");
        let mut work = two.subscribe("work".into()).await.expect("subscribed");
        say(&one, "work", Some("i.one.2"), "?").await;
        assert_eq!(work.next().await.and_then(|asked| asked.reply).as_deref(), Some("i.one.2"));
        drop(work);
        say(&one, "work", Some("i.one.3"), "?").await;
        assert!(replies.next().await.is_some_and(|said| said.no_responders));
    }

    #[tokio::test]
    async fn a_cut_wire_loses_messages_and_an_ended_one_is_gone() {
        let one = LocalBus::new("i.one");
        let two = one.connect("i.two");
        let mut replies = one.subscribe("i.one.>".into()).await.expect("subscribed");
        let mut work = two.subscribe("work".into()).await.expect("subscribed");
        two.cut();
        assert!(!two.is_connected());
        say(&one, "work", Some("i.one.1"), "lost").await;
        two.mend();
        say(&one, "work", Some("i.one.2"), "kept").await;
        assert_eq!(work.next().await.map(|said| said.payload), Some("kept".into()));
        two.end();
        assert!(work.next().await.is_none());
        say(&one, "work", Some("i.one.3"), "?").await;
        let none = replies.next().await.expect("a report");
        assert!(none.no_responders && none.subject == "i.one.3");
        assert!(two.publish("work".into(), None, Bytes::new()).await.is_err());
    }

    #[tokio::test]
    async fn a_message_goes_to_one_of_a_group_and_to_all_others() {
        let bus = LocalBus::new("i");
        let mut alone = bus.subscribe("work".into()).await.expect("subscribed");
        let mut group = Vec::new();
        for _ in 0..2 {
            group.push(bus.subscribe_in("work".into(), "g").await.expect("subscribed"));
        }
        for text in ["one", "two"] {
            say(&bus, "work", None, text).await;
        }
        for member in &mut group {
            assert!(member.next().await.is_some(), "each has its turn");
        }
        assert!(alone.next().await.is_some() && alone.next().await.is_some());
    }

    #[tokio::test]
    async fn what_is_too_large_is_refused() {
        let bus = LocalBus::new("i").with_max_payload(3);
        let refused = bus.publish("a".into(), None, Bytes::from_static(b"four")).await;
        assert!(matches!(refused, Err(BusError::TooLarge { bytes: 4, most: 3 })));
    }
}
