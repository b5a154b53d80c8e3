//! More than there is place for, from many clients at once, hostile ones among them.

use std::collections::BTreeSet;

use crate::server::*;

/// Clients, and how many runs each asks for.
const CLIENTS: usize = 48;
const EACH: usize = 20;

#[tokio::test]
async fn what_is_accepted_is_answered_once_and_the_rest_is_refused_with_a_time() {
    let server = Server::start(|config| {
        config.tenants.get_mut("acme").unwrap().runs_at_once = 16;
        config.bounds.connections = 128;
    })
    .await;
    // Some send half of what they have to, some do not read, some do nothing.
    let mut hostile = Vec::new();
    for number in 0..24 {
        let mut client = server.connect().await;
        let whole = post("other", "long");
        match number % 4 {
            0 => client.send(&whole[..20]).await,
            1 => client.send(&whole[..whole.len() - 1]).await,
            2 => {
                let short = post("other", "ok");
                client.send(&short).await;
                one(&server.begun).await;
            }
            _ => {}
        }
        hostile.push(client);
    }
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let mut client = server.connect().await;
        clients.push(tokio::spawn(async move {
            let (mut ids, mut refused) = (Vec::new(), 0);
            for _ in 0..EACH {
                client.send(&post("acme", "ok")).await;
                let answer = client.answer().await;
                match answer.status {
                    200 => {
                        let id = answer.json()["id"].as_str().unwrap().to_owned();
                        assert_eq!(answer.header("carboy-run"), Some(id.as_str()));
                        ids.push(id);
                    }
                    429 | 503 => {
                        assert!(answer.header("retry-after").is_some(), "{answer:?}");
                        refused += 1;
                    }
                    _ => panic!("{answer:?}"),
                }
            }
            (ids, refused)
        }));
    }
    let (mut all, mut refused) = (Vec::new(), 0);
    for client in clients {
        let (ids, not) = within(client).await.unwrap();
        all.extend(ids);
        refused += not;
    }
    assert_eq!(all.len() + refused, CLIENTS * EACH);
    let different: BTreeSet<_> = all.iter().collect();
    assert_eq!(different.len(), all.len(), "a run was answered twice");
    let begun = server.behind.policies.lock().unwrap().len();
    // Those of the hostile clients that sent a whole request.
    assert_eq!(begun, all.len() + hostile.len() / 4, "a run was lost");
    assert!(!all.is_empty());
    drop(hostile);
    server.end().await;
}
