//! A table of texts: a row for each id, a column for each figure.

/// What stands between the figures of a cell that has several with names, `mfu=0.5; hfu=0.6`.
pub const BETWEEN: &str = "; ";

/// What stands in one file: `id` and the other columns, rows in the order of their making.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Names of the columns, that of the id apart.
    pub columns: Vec<String>,
    /// Ids, each with its cells.
    pub rows: Vec<(String, Vec<String>)>,
}

impl Table {
    pub fn new(columns: &[&str], rows: Vec<(String, Vec<String>)>) -> Self {
        Self { columns: columns.iter().map(ToString::to_string).collect(), rows }
    }

    pub fn from_csv(text: &str) -> Self {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let columns = reader.headers().expect("a header").iter().skip(1).map(str::to_owned).collect();
        let row = |record: csv::StringRecord| {
            let mut cells = record.iter().map(str::to_owned);
            (cells.next().expect("an id"), cells.collect())
        };
        Self { columns, rows: reader.records().map(|record| row(record.expect("as wide as the header"))).collect() }
    }

    pub fn to_csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let head = std::iter::once("id").chain(self.columns.iter().map(String::as_str));
        writer.write_record(head).expect("memory");
        for (id, cells) in &self.rows {
            writer.write_record(std::iter::once(id).chain(cells)).expect("as wide as the header");
        }
        String::from_utf8(writer.into_inner().expect("memory")).expect("UTF-8")
    }
}
