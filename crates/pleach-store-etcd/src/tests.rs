//! Tests against a real etcd, which each test starts: `etcd` from `$PLEACH_TOOLS/bin`, or from the path.

mod background;
mod contract;
mod etcd;
mod proxy;
mod recovery;
mod tls;
