//! Choices, from what nodes said.

use super::*;

const NOW: Duration = Duration::ZERO;

fn address(node: u64) -> Address {
    Address { node, incarnation: 1 }
}

fn hint(free: u32) -> Hint {
    Hint { free, total: 8, draining: false }
}

fn nodes(count: u64) -> Nodes {
    let mut nodes = Nodes::new(1);
    (0..count).for_each(|node| nodes.heard(address(node), hint(8), NOW));
    nodes
}

#[test]
fn runs_are_spread_with_what_was_sent_and_is_not_reported_yet() {
    let mut nodes = nodes(100);
    let mut sent = HashMap::new();
    for _ in 0..400 {
        let chosen = nodes.choose(None, &[], NOW).expect("a node");
        nodes.sent(chosen);
        *sent.entry(chosen).or_insert(0) += 1;
    }
    // At random the fullest of 100 would have about 10 of 400, and some none.
    assert!(sent.values().all(|&runs| runs <= 6), "{sent:?}");
    assert_eq!(sent.len(), 100);
    // No more is sent than they said they had room for.
    while let Some(chosen) = nodes.choose(None, &[], NOW) {
        nodes.sent(chosen);
        *sent.entry(chosen).or_insert(0) += 1;
    }
    assert!(sent.values().all(|&runs| runs == 8), "{sent:?}");
}

#[test]
fn silent_draining_full_and_tried_nodes_are_not_chosen() {
    let mut nodes = nodes(5);
    nodes.heard(address(0), Hint { draining: true, ..hint(8) }, NOW);
    nodes.refused(address(1));
    for node in [0, 1, 3, 4] {
        // A node that refused has to say something else first.
        if node != 1 {
            nodes.heard(address(node), Hint { draining: node == 0, ..hint(8) }, SILENCE);
        }
    }
    nodes.refused(address(1));
    for _ in 0..50 {
        assert_eq!(nodes.choose(None, &[address(3)], SILENCE), Some(address(4)));
    }
    assert_eq!(nodes.choose(None, &[address(3), address(4)], SILENCE), None);
    nodes.replied(address(1), hint(1), SILENCE);
    assert_eq!(nodes.choose(None, &[address(3), address(4)], SILENCE), Some(address(1)));
}

#[test]
fn a_node_that_is_gone_is_forgotten_and_others_stay_known() {
    let mut nodes = nodes(4);
    nodes.gone(address(1));
    nodes.gone(address(1));
    nodes.sent(address(1));
    let met: std::collections::BTreeSet<u64> =
        (0..100).filter_map(|_| nodes.choose(None, &[], NOW)).map(|chosen| chosen.node).collect();
    assert_eq!(met.into_iter().collect::<Vec<_>>(), [0, 2, 3]);
    nodes.heard(address(2), hint(8), SILENCE);
    nodes.forget_silent(SILENCE, SILENCE);
    assert_eq!(nodes.known.len(), 1);
    assert_eq!(nodes.choose(None, &[], SILENCE), Some(address(2)));
}

#[test]
fn an_environment_stays_with_its_nodes_and_spills_when_they_are_full() {
    let mut nodes = nodes(50);
    let warm = |nodes: &mut Nodes| -> std::collections::BTreeSet<Address> {
        (0..200).filter_map(|_| nodes.choose(Some(99), &[], NOW)).collect()
    };
    let first = warm(&mut nodes);
    assert_eq!(first.len(), WARM);
    // Most nodes can come and go without moving it.
    let stranger = (0..50).map(address).find(|node| !first.contains(node)).expect("another node");
    nodes.gone(stranger);
    assert_eq!(warm(&mut nodes), first);
    let lost = *first.first().expect("a warm node");
    nodes.gone(lost);
    let second = warm(&mut nodes);
    assert_eq!(second.intersection(&first).count(), WARM - 1);
    for &node in &second {
        nodes.heard(node, hint(0), NOW);
    }
    assert!(warm(&mut nodes).is_disjoint(&second));
    // Nor are those preferred that have something to do, while others have nothing.
    for &node in &second {
        nodes.heard(node, hint(4), NOW);
    }
    assert!(warm(&mut nodes).len() > 2 * WARM);
}

#[test]
fn the_lighter_of_two_is_taken() {
    let mut nodes = nodes(2);
    nodes.heard(address(0), hint(2), NOW);
    for _ in 0..20 {
        assert_eq!(nodes.choose(None, &[], NOW), Some(address(1)));
    }
}

#[test]
fn a_machine_has_one_start_and_a_flood_of_names_is_bounded() {
    let mut nodes = nodes(1);
    let later = Address { incarnation: 2, ..address(0) };
    nodes.heard(later, hint(8), NOW);
    assert_eq!((nodes.known.len(), nodes.choose(None, &[], NOW)), (1, Some(address(0))));
    // The former was started again: nobody listens where it was, or it has been silent.
    nodes.gone(address(0));
    nodes.heard(later, hint(8), NOW);
    assert_eq!((nodes.known.len(), nodes.choose(None, &[], NOW)), (1, Some(later)));
    nodes.heard(address(0), hint(8), SILENCE);
    assert_eq!((nodes.known.len(), nodes.choose(None, &[], SILENCE)), (1, Some(address(0))));
    for node in 0..10_000 {
        nodes.heard(address(node), Hint { free: u32::MAX, total: u32::MAX, draining: false }, NOW);
    }
    assert_eq!((nodes.known.len(), nodes.starts.len()), (KNOWN, KNOWN));
    assert!(nodes.known.iter().all(|node| node.hint.total <= PLACES && node.hint.free <= PLACES));
}
