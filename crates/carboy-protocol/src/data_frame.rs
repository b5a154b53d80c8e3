//! Files that code finds as frames: tables and arrays, as variables.

use serde::{Deserialize, Serialize};

/// One of a job's files that the code finds as a variable: a frame of its libraries. The jar makes it of the
/// file, and maps the file where it can; nothing of it is read outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DataFrame {
    /// The name of the file, as it is in the job's `files`.
    pub file: String,
    /// What is in the file. Without it the end of the file's name tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<DataFormat>,
    /// The type of the variable. Without it, it is a frame of the library that the code imports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<DataKind>,
}

/// What is in a file that is a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DataFormat {
    /// Arrow IPC, the format of files. Where it is not compressed it is mapped and not read.
    Arrow,
    /// Parquet.
    Parquet,
    /// Comma-separated values with a line of names.
    Csv,
    /// A JSON object in each line.
    Jsonl,
    /// An array of numpy.
    Npy,
    /// The columns of a pandas frame as arrays of numpy: what is passed where there is no pyarrow.
    Npz,
}

impl DataFormat {
    /// The format of a file with this name.
    pub fn of(name: &str) -> Option<DataFormat> {
        let (_, end) = name.rsplit_once('.')?;
        let end = end.to_ascii_lowercase();
        let known = DataFormat::ENDS.iter().find(|(_, ends)| ends.contains(&end.as_str()));
        known.map(|(format, _)| *format)
    }

    /// The format with this name.
    pub fn named(name: &str) -> Option<DataFormat> {
        DataFormat::NAMES.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        DataFormat::NAMES.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }

    /// Every format, by its name.
    pub const NAMES: [(&'static str, DataFormat); 6] = [
        ("arrow", DataFormat::Arrow),
        ("parquet", DataFormat::Parquet),
        ("csv", DataFormat::Csv),
        ("jsonl", DataFormat::Jsonl),
        ("npy", DataFormat::Npy),
        ("npz", DataFormat::Npz),
    ];

    /// The end of a file's name that tells this format.
    pub fn end(self) -> &'static str {
        let row = DataFormat::ENDS.iter().find(|(format, _)| *format == self);
        row.map_or("", |(_, ends)| ends[0])
    }

    const ENDS: [(DataFormat, &'static [&'static str]); 6] = [
        (DataFormat::Arrow, &["arrow", "feather", "ipc"]),
        (DataFormat::Parquet, &["parquet", "pq"]),
        (DataFormat::Csv, &["csv"]),
        (DataFormat::Jsonl, &["jsonl", "ndjson"]),
        (DataFormat::Npy, &["npy"]),
        (DataFormat::Npz, &["npz"]),
    ];
}

/// The type of a variable that is a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum DataKind {
    /// A table of pandas.
    #[serde(rename = "pandas.DataFrame")]
    PandasFrame,
    /// One column of pandas.
    #[serde(rename = "pandas.Series")]
    PandasSeries,
    /// A table of polars.
    #[serde(rename = "polars.DataFrame")]
    PolarsFrame,
    /// One column of polars.
    #[serde(rename = "polars.Series")]
    PolarsSeries,
    /// A table of polars that is read as far as it is collected.
    #[serde(rename = "polars.LazyFrame")]
    PolarsLazy,
    /// A table of pyarrow.
    #[serde(rename = "pyarrow.Table")]
    ArrowTable,
    /// A piece of a table of pyarrow.
    #[serde(rename = "pyarrow.RecordBatch")]
    ArrowBatch,
    /// A table of pyarrow that is read as far as it is asked for.
    #[serde(rename = "pyarrow.Dataset")]
    ArrowDataset,
    /// An array of numpy.
    #[serde(rename = "numpy.ndarray")]
    Array,
}

impl DataKind {
    /// Every kind, by its name.
    pub const NAMES: [(&'static str, DataKind); 9] = [
        ("pandas.DataFrame", DataKind::PandasFrame),
        ("pandas.Series", DataKind::PandasSeries),
        ("polars.DataFrame", DataKind::PolarsFrame),
        ("polars.Series", DataKind::PolarsSeries),
        ("polars.LazyFrame", DataKind::PolarsLazy),
        ("pyarrow.Table", DataKind::ArrowTable),
        ("pyarrow.RecordBatch", DataKind::ArrowBatch),
        ("pyarrow.Dataset", DataKind::ArrowDataset),
        ("numpy.ndarray", DataKind::Array),
    ];

    /// The kind with this name.
    pub fn of(name: &str) -> Option<DataKind> {
        DataKind::NAMES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }

    /// Its name: how Python calls the type.
    pub fn name(self) -> &'static str {
        DataKind::NAMES.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// Whether it can be made of a file in this format.
    pub fn is_made_of(self, format: DataFormat) -> bool {
        match format {
            DataFormat::Npy => self == DataKind::Array,
            DataFormat::Npz => matches!(self, DataKind::PandasFrame | DataKind::PandasSeries),
            _ => self != DataKind::Array,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_told_by_the_end_of_a_name() {
        assert_eq!(DataFormat::of("a/b.c/sales.PARQUET"), Some(DataFormat::Parquet));
        assert_eq!(DataFormat::of("sales.csv.gz"), None);
        assert_eq!(DataFormat::of("csv"), None);
        for (format, _) in DataFormat::ENDS {
            assert_eq!(DataFormat::of(&format!("x.{}", format.end())), Some(format));
        }
    }

    #[test]
    fn a_format_has_the_name_that_json_has() {
        for (name, format) in DataFormat::NAMES {
            assert_eq!(serde_json::to_value(format).unwrap(), name);
            assert_eq!((DataFormat::named(name), format.name()), (Some(format), name));
            // A word before a frame's name is one of both.
            assert_eq!(DataKind::of(name), None);
        }
    }

    #[test]
    fn a_kind_has_the_name_that_json_has() {
        for (name, kind) in DataKind::NAMES {
            assert_eq!(serde_json::to_value(kind).unwrap(), name);
            assert_eq!((DataKind::of(name), kind.name()), (Some(kind), name));
        }
        assert_eq!(DataKind::of("pandas"), None);
    }
}
