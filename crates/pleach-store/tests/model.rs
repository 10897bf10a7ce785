//! The model keeps the contract it is the measure of.

use std::sync::Arc;

use pleach_store::{ModelStore, Store};

pleach_store::contract!(|| (Arc::new(ModelStore::new()) as Arc<dyn Store>, ()));
