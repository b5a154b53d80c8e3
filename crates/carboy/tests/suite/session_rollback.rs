//! Files of a session that roll back with its memory, whatever a run did to them.

use carboy_engine::{RunOptions, Session};
use carboy_protocol::{Limits, Piece, Policy, SessionFiles, StateAfter, Walls};

use crate::sessions::{close, run, small, value};
use crate::support::*;

async fn opened(change: impl FnOnce(&mut Limits)) -> Option<(Bench, Session)> {
    if walls() == Walls::Nested {
        skip("in nested walls there are no sessions");
        return None;
    }
    let bench = Bench::new();
    let policy = Policy { session_files: SessionFiles::Rollback, ..small(change) };
    let session = bench.engine.session(&policy).await.unwrap();
    Some((bench, session))
}

/// All that there is, with content, modes and times; what lies deeper than three folders is only named.
const TREE: &str = "
import os, stat
def tree():
    found = []
    for root in ('/jar', '/tmp', '/dev/shm'):
        for at, folders, files in os.walk(root):
            if at.count('/') > 5:
                folders.clear()
            for name in folders + files:
                path = at + '/' + name
                about = os.lstat(path)
                kind = stat.S_IFMT(about.st_mode)
                more = None
                if kind == stat.S_IFLNK:
                    more = os.readlink(path)
                if kind == stat.S_IFREG:
                    os.chmod(path, 0o600)
                    with open(path, 'rb') as file:
                        more = [about.st_size, about.st_mtime_ns, hash(file.read(1 << 24))]
                    os.chmod(path, stat.S_IMODE(about.st_mode))
                found.append([path, about.st_mode if kind != stat.S_IFLNK else 0, more])
    return sorted(found, key=str)
";
/// Something of every kind.
const MADE: &str = "
os.makedirs('/jar/a/b')
open('/jar/a/b/one', 'w').write('one')
open('/tmp/two', 'w').write('2' * 3_000_000)
open('/dev/shm/three', 'w').write('3')
open('/jar/closed', 'w').write('closed')
os.chmod('/jar/closed', 0)
os.symlink('/etc/passwd', '/jar/link')
os.symlink('nowhere', '/jar/a/dangling')
with open('/jar/holes', 'wb') as file:
    file.seek(1 << 22)
    file.write(b'x')
open('/jar/mapped', 'wb').write(b'0' * 8192)
os.mkdir('/jar/shut')
open('/jar/shut/in', 'w').write('in')
os.chmod('/jar/shut', 0)
";
/// What runs do to it before they die.
const HARM: [&str; 8] = [
    "import shutil; shutil.rmtree('/jar/a'); os.unlink('/tmp/two')",
    "open('/jar/a/b/one', 'a').write('more'); open('/tmp/two', 'r+').write('X')",
    "os.unlink('/jar/link'); os.mkdir('/jar/link'); open('/jar/link/x', 'w').write('x')",
    "os.unlink('/jar/a/b/one'); os.symlink('/tmp/two', '/jar/a/b/one')\n\
     os.rename('/jar/a', '/jar/away'); os.symlink('/jar/away', '/jar/a')",
    "import mmap\n\
     with open('/jar/mapped', 'r+b') as file:\n    \
         mmap.mmap(file.fileno(), 0)[:5] = b'abcde'",
    "with open('/jar/holes', 'r+b') as file:\n    file.write(b'y' * 100_000)",
    "os.chmod('/jar/shut', 0o700); open('/jar/shut/in', 'w').write('out'); os.chmod('/jar', 0)",
    "for _ in range(300):\n    os.mkdir('deep'); os.chdir('deep'); open('x', 'w').write('x')",
];

#[tokio::test]
async fn files_go_back_with_memory_whatever_a_run_did_to_them() {
    let Some((bench, session)) = opened(|_| {}).await else { return };
    run(&session, TREE).await;
    run(&session, MADE).await;
    // Looking changes nothing that is looked at, and the closed folder is not looked into.
    let before = value(&session, "tree()").await;
    for harm in HARM {
        let reply = run(&session, &format!("{harm}\nos._exit(1)")).await;
        assert_eq!(reply.state, StateAfter::Restored, "{harm}: {reply:#?}");
        assert_eq!(value(&session, "tree()").await, before, "{harm}");
    }
    assert_eq!(
        value(&session, "os.chmod('/jar/shut', 0o700)\nopen('/jar/shut/in').read()").await,
        "\"in\""
    );
    // An exception keeps what the code reached, unless that is to be undone.
    run(&session, "open('kept', 'w').write('kept')\n1 / 0").await;
    let piece =
        Piece { code: "os.unlink('kept')\n1 / 0".into(), rollback: true, ..Piece::default() };
    let reply = session.run_with(piece, RunOptions::default()).await.unwrap();
    assert_eq!(reply.state, StateAfter::Restored);
    assert_eq!(value(&session, "open('kept').read()").await, "\"kept\"");
    let reply = run(&session, "open('new', 'w').write('new')").await;
    assert!(reply.outcome.artifacts.iter().any(|left| left.path == "new"), "{reply:#?}");
    close(bench, session).await;
}

#[tokio::test]
async fn checkpoints_have_their_files_and_branches_are_refused() {
    let Some((bench, session)) =
        opened(|limits| (limits.file_bytes, limits.files) = (4 << 20, 100)).await
    else {
        return;
    };
    run(
        &session,
        "import os\nx = 1\nfile = open('log', 'w+')\nprint('one', file=file, flush=True)",
    )
    .await;
    session.checkpoint("one").await.unwrap();
    run(&session, "x = 2\nprint('two', file=file, flush=True)\nopen('other', 'w').write('x')")
        .await;
    session.checkpoint("two").await.unwrap();
    run(&session, "os.unlink('log'); os.unlink('other'); x = 3").await;
    let state = "[x, os.listdir(), open('log').read()]";
    for (name, expected) in
        [("one", r#"[1,["log"],"one\n"]"#), ("two", r#"[2,["log","other"],"one\ntwo\n"]"#)]
    {
        session.rollback(name).await.unwrap();
        assert_eq!(
            value(&session, &state.replace("os.listdir()", "sorted(os.listdir())")).await,
            expected
        );
        // What dies after a rollback goes back to that.
        assert_eq!(
            run(&session, "os.unlink('log'); os._exit(1)").await.state,
            StateAfter::Restored
        );
        assert_eq!(
            value(&session, "len(open('log').read())").await,
            if name == "one" { "4" } else { "8" }
        );
    }
    // All checkpoints together keep as much as files may have.
    run(&session, "open('big', 'wb').write(b'x' * 3_000_000)").await;
    session.checkpoint("big").await.unwrap();
    run(&session, "open('big', 'wb').write(b'y' * 3_000_000)").await;
    let refused = session.checkpoint("bigger").await.unwrap_err().to_string();
    assert!(refused.contains("cannot be kept"), "{refused}");
    session.drop_checkpoint("big").await.unwrap();
    session.checkpoint("bigger").await.unwrap();
    let refused = session.branch().await.err().unwrap().to_string();
    assert!(refused.contains("no branches"), "{refused}");
    close(bench, session).await;
}

#[tokio::test]
async fn a_run_whose_files_cannot_be_kept_is_told_that_it_has_no_copy() {
    let Some((bench, session)) = opened(|_| {}).await else { return };
    run(&session, "import os\nfor _ in range(120):\n    os.mkdir('d'); os.chdir('d')").await;
    let reply = run(&session, "os.chdir('/jar')").await;
    let note = reply.note.unwrap();
    assert!(note.contains("nested deeper than 100"), "{note}");
    assert_eq!(
        run(&session, "for n in range(120, 0, -1):\n    os.rmdir('/jar' + '/d' * n)").await.state,
        StateAfter::Kept
    );
    assert_eq!(run(&session, "x = 1").await.note, None);
    assert_eq!(run(&session, "os._exit(1)").await.state, StateAfter::Restored);
    close(bench, session).await;
}

#[tokio::test]
async fn a_checkpoint_has_the_files_of_its_own_moment() {
    let Some((bench, session)) = opened(|_| {}).await else { return };
    // Refuses the copy after its own run, in which files would have been kept.
    let refuses = "
import os
fork, asked = os.fork, 0
def refuse_once():
    global asked
    asked += 1
    if asked == 1:
        raise OSError(11, 'once')
    return fork()
os.fork = refuse_once
open('new', 'w').write('new')
";
    run(&session, refuses).await;
    session.checkpoint("here").await.unwrap();
    run(&session, "os.unlink('new')").await;
    session.rollback("here").await.unwrap();
    assert_eq!(value(&session, "open('new').read()").await, "\"new\"");
    close(bench, session).await;
}

#[tokio::test]
async fn who_is_told_that_a_session_was_restored_has_its_files() {
    let Some((bench, session)) = opened(|limits| limits.file_bytes = 4 << 20).await else { return };
    // The copy has the file open, so there is no room to make it anew once it was removed.
    let holds = "import os\nfile = open('big', 'wb', 0)\nfile.write(b'x' * 3_000_000)";
    run(&session, holds).await;
    session.checkpoint("held").await.unwrap();
    let reply = run(&session, "os.unlink('big')\nos._exit(1)").await;
    assert_eq!(reply.state, StateAfter::Ended, "{reply:#?}");
    let note = reply.note.unwrap();
    assert!(note.contains("its files could not be restored"), "{note}");
    let policy = Policy {
        session_files: SessionFiles::Rollback,
        ..small(|limits| limits.file_bytes = 4 << 20)
    };
    drop(session);
    let session = bench.engine.session(&policy).await.unwrap();
    run(&session, holds).await;
    session.checkpoint("held").await.unwrap();
    run(&session, "os.unlink('big')").await;
    let over = session.rollback("held").await.unwrap_err().to_string();
    assert!(over.contains("its files could not be restored"), "{over}");
    drop(session);
    bench.close().await;
}
