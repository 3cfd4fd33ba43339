//! Threads that wait for the next long call, so that its memory is warm: a new thread begins with pages that the
//! system must clear first, which took a third of a call.

use std::io;
use std::process;
use std::sync::Mutex;
use std::sync::mpsc::{self, Sender};
use std::thread;

/// More threads than this do not wait.
const MOST: usize = 4;

/// What a thread does: the work, then what tells of it.
pub(crate) type Job = Box<dyn FnOnce() -> Told + Send>;
/// Tells whoever asked.
pub(crate) type Told = Box<dyn FnOnce() + Send>;

struct Idle {
    /// The process in which the thread is: a fork takes no threads along.
    process: u32,
    door: Sender<Job>,
}

static IDLE: Mutex<Vec<Idle>> = Mutex::new(Vec::new());

/// Runs a job in a thread that waits, or in a new one.
///
/// # Errors
/// No thread can be started.
pub(crate) fn run(mut job: Job) -> io::Result<()> {
    while let Some(door) = take() {
        match door.send(job) {
            Ok(()) => return Ok(()),
            Err(unsent) => job = unsent.0,
        }
    }
    let (door, jobs) = mpsc::channel::<Job>();
    let run = move || {
        let mut next = Some(job);
        while let Some(job) = next {
            let told = job();
            // Whoever is told may ask again at once.
            let waits = put(&door);
            told();
            next = waits.then(|| jobs.recv().ok()).flatten();
        }
    };
    thread::Builder::new().name("gangplan".to_owned()).spawn(run).map(drop)
}

/// A thread of this process that waits. Another thread may have held the lock when the process forked: then it is
/// held for ever, and nobody waits for it.
fn take() -> Option<Sender<Job>> {
    let mut idle = IDLE.try_lock().ok()?;
    idle.retain(|waiting| waiting.process == process::id());
    idle.pop().map(|waiting| waiting.door)
}

/// Whether the thread behind this door is to wait.
fn put(door: &Sender<Job>) -> bool {
    let Ok(mut idle) = IDLE.try_lock() else { return false };
    let waits = idle.len() < MOST;
    if waits {
        idle.push(Idle { process: process::id(), door: door.clone() });
    }
    waits
}
