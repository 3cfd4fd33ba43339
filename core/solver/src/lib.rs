//! Places gangs of replicas on a cluster: documents in, plan out.
//!
//! A *gang* is a set of replicas in *roles* that start together or not at all. Given a [`Snapshot`] of nodes, queues,
//! gangs and what runs, [`solve`] answers with a [`Plan`]: for each waiting gang either a node for every replica that
//! must still start, or a [`Rejection`] with the rule that binds, its numbers, and changes that were tried and would
//! admit it. That a gang does not fit is an answer; an [`Error`] is bad input or the caller's stop flag.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use gangplan_solver::document::{Snapshot, SolveOptions, decode};
//!
//! let snapshot: Snapshot = decode(br#"{
//!     "topology": ["rack"],
//!     "nodes": [
//!         {"name": "n1", "labels": {"rack": "r1"}, "allocatable": {"cpu": "8", "nvidia.com/gpu": "2"}},
//!         {"name": "n2", "labels": {"rack": "r1"}, "allocatable": {"cpu": "8", "nvidia.com/gpu": "2"}}],
//!     "gangs": [
//!         {"name": "mnist", "topology": {"required": "rack"}, "roles": [
//!             {"name": "ps", "replicas": 1, "requests": {"cpu": "2"}},
//!             {"name": "worker", "replicas": 3, "requests": {"cpu": "2", "nvidia.com/gpu": "1"}}]},
//!         {"name": "second", "roles": [
//!             {"name": "worker", "replicas": 2, "requests": {"cpu": "1", "nvidia.com/gpu": "1"}}]}]
//! }"#)?;
//! let plan = gangplan_solver::solve(&snapshot, &SolveOptions::default(), &AtomicBool::new(false))?;
//! assert_eq!(plan.placements["mnist"]["worker"], ["n1", "n1", "n2"]);
//! assert_eq!(
//!     plan.rejections["second"].message,
//!     "needs 2 nvidia.com/gpu; the nodes that it may use have 1 free",
//! );
//! assert_eq!(plan.rejections["second"].changes[0].text, "1 worker instead of 2");
//! assert!(gangplan_solver::check(&snapshot, &plan)?.is_empty());
//! # Ok::<(), gangplan_solver::Error>(())
//! ```
//!
//! # How it is built
//!
//! | module | holds |
//! |---|---|
//! | [`document`] | what crosses the border: names and quantity strings; all problems of a document at once |
//! | `model` | the same facts as dense ids and integers, sorted, immutable during a solve |
//! | `state` | the Ledger: free capacity and queue usage with checkpoints; nothing else subtracts capacity |
//! | `order` | whose turn it is: queues by their shares, gangs by priority and age |
//! | `earmark` | room kept for a gang that was passed over for too long |
//! | `constraint` | what each hard rule means: quotas, node classes, minimums, levels, sums |
//! | `objective` | soft goals: the traffic between replicas that lie apart, and the order of ranks |
//! | `search` | levels from fine to coarse, domains from tight to wide; fast starts, then an exact table; improvement |
//! | `search::compose` | gangs with rules of their own: sets of counts that slices, spread, groups, zones and company allow |
//! | `explain` | what binds a refused gang, and changes proven by trials that are rolled back |
//! | `check` | judges a plan from the documents alone; it shares no code with the search |
//! | `decide` | one decision: turn by turn, gate, place, refuse, keep room |
//! | `solve` | the pipeline on one page |
//! | [`session`] | a cluster held in memory, told in columns or in names, kept up by deltas, and decisions booked in it |
//!
//! # What is promised
//!
//! - The same snapshot, in any order, gives the same bytes. Integers decide; every comparison ends in an id.
//! - For one gang, given what is free and the level it requires, *fits* and *does not fit* are exact, unless the
//!   budget cut the search; then the rejection says `proven: false`. Which feasible placement is chosen is as good as
//!   the search makes it.
//! - The budget counts table cells, so that it cuts alike on every machine. Only the deadline looks at a clock, and a
//!   plan that it cut says so.
//!
//! [`Snapshot`]: document::Snapshot
//! [`Plan`]: document::Plan
//! [`Rejection`]: document::Rejection

pub mod document;
pub mod session;

mod check;
mod constraint;
mod decide;
mod divisor;
mod earmark;
mod error;
mod explain;
mod model;
mod objective;
mod order;
mod search;
mod solve;
mod state;

pub use check::{Violation, check};
pub use error::{Error, Problem, ProblemCode};
pub use solve::{evaluate, solve, solve_bytes};
