//! The types of the built-in kinds: the table of [`pleach_types`], as schemas and as patch strategies.

mod patching;
mod published;
mod schema;

pub use patching::strategic_schema;
pub use pleach_types::{FieldDef, TypeDef, TypeExpr, blank, check, get, go_root, go_struct, of_kind, zero};
pub use published::published;
pub use schema::{cel_schema, schema, schema_value};
