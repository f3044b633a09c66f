//! Widgets: small values that draw themselves on any rectangle, however small, from data that is
//! handed to them. Not for knowing the state of the program.

mod axis;
pub mod gantt;
pub mod heatmap;
pub mod list;
pub mod loglog;
pub mod memory_line;
pub mod stacked_bar;
pub mod strip;
pub mod table;
pub mod text;

pub use gantt::Gantt;
pub use heatmap::Heatmap;
pub use list::RowList;
pub use loglog::{LogLog, Scatter};
pub use memory_line::MemoryLine;
pub use stacked_bar::StackedBar;
pub use strip::Strip;
