//! Calls to outside systems, proven through whole jobs: what goes out, at which time, in which
//! order, and what must not be there.

mod capacity;
mod chains;
mod clock;
mod completer;
mod desk;
mod drops;
mod events;
mod faults;
mod functions;
mod numbers;
mod orders;
mod policies;
mod random;
mod shapes;
