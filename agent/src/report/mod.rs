//! What a finding looks like to people and to programs.
//!
//! The fields and their order are a contract; every form is made from one [`Record`].

mod record;
mod text;
mod writer;

pub use record::Record;
pub use text::explanation;
pub use writer::{Format, Writer};
