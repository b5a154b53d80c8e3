//! What a run shows: figures, tables, pictures, each with its media type.
//!
//! A display comes out of a jar, so all of it is hostile: the media type is one of a closed list, and
//! [`check`] looks at the data once, from its length on, without building anything from it. What it holds
//! stays the guest's: HTML may contain scripts, and whoever shows it keeps it in a sandboxed frame.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::base64::value;
use crate::raster::{Base64, gif, jpeg, png};

/// How the data of a display is written in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// Bytes, as text in base64.
    Base64,
    /// Text.
    Text,
    /// A value of JSON's own.
    Json,
}

macro_rules! media_types {
    ($($(#[doc = $doc:literal])+ $name:ident $written:ident $word:literal $extension:literal)+) => {
        /// What a display is. There are no others.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum MediaType {
            $($(#[doc = $doc])+ #[serde(rename = $word)] $name,)+
        }

        impl MediaType {
            /// Every media type.
            pub const ALL: &[MediaType] = &[$(MediaType::$name,)+];

            /// The word used on every surface.
            pub fn as_str(self) -> &'static str {
                match self { $(MediaType::$name => $word,)+ }
            }

            /// How its data is written.
            pub fn written(self) -> Written {
                match self { $(MediaType::$name => Written::$written,)+ }
            }

            /// How the name of a file with such content ends.
            pub fn extension(self) -> &'static str {
                match self { $(MediaType::$name => $extension,)+ }
            }
        }
    };
}

media_types! {
    /// A picture.
    Png Base64 "image/png" "png"
    /// A photograph.
    Jpeg Base64 "image/jpeg" "jpg"
    /// A moving picture.
    Gif Base64 "image/gif" "gif"
    /// A drawing. It may contain scripts.
    Svg Text "image/svg+xml" "svg"
    /// A page or a part of one. It may contain scripts.
    Html Text "text/html" "html"
    /// Markdown, which may contain HTML.
    Markdown Text "text/markdown" "md"
    /// A formula.
    Latex Text "text/latex" "tex"
    /// Text.
    Plain Text "text/plain" "txt"
    /// Any value.
    Json Json "application/json" "json"
    /// A figure of plotly.
    Plotly Json "application/vnd.plotly.v1+json" "plotly.json"
    /// A figure of Vega-Lite 5, as altair makes them.
    VegaLite5 Json "application/vnd.vegalite.v5+json" "vl.json"
    /// A figure of Vega-Lite 6.
    VegaLite6 Json "application/vnd.vegalite.v6+json" "vl.json"
    /// A table, as a stream of Arrow IPC.
    Arrow Base64 "application/vnd.apache.arrow.stream" "arrows"
}

/// One thing that the code showed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Display {
    /// What it is.
    pub media_type: MediaType,
    /// Its content: text, bytes as text in base64, or JSON, by [`MediaType::written`]. The guest's own.
    pub data: Box<RawValue>,
}

impl Display {
    /// The data where that is a text: as it is, or in base64.
    pub fn text(&self) -> Option<String> {
        serde_json::from_str(self.data.get()).ok()
    }
}

/// How matplotlib's figures are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FigureForm {
    /// In pixels.
    #[default]
    Png,
    /// In lines and text.
    Svg,
}

/// How tables are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TableForm {
    /// As HTML, cut by the library that made them.
    #[default]
    Html,
    /// As HTML, and behind that the whole table as a stream of Arrow IPC.
    Arrow,
}

/// How what the code shows is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Drawing {
    /// How matplotlib's figures are drawn.
    pub figures: FigureForm,
    /// How tables of pandas, polars and pyarrow are shown.
    pub tables: TableForm,
}

/// What is wrong with a display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisplayFault {
    /// Its data is not a text.
    NotText,
    /// Its data is not base64.
    NotBase64,
    /// Its bytes do not begin as its media type does.
    NotOfItsType,
    /// A picture of more than [`MAX_PIXELS`].
    TooManyPixels,
}

impl std::fmt::Display for DisplayFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DisplayFault::NotText => f.write_str("its data is not text"),
            DisplayFault::NotBase64 => f.write_str("its data is not base64"),
            DisplayFault::NotOfItsType => f.write_str("its data is not of its media type"),
            DisplayFault::TooManyPixels => write!(f, "it has more than {MAX_PIXELS} pixels"),
        }
    }
}

impl std::error::Error for DisplayFault {}

/// How many pixels a picture may have: few bytes can be a picture that fills the memory of its viewer.
pub const MAX_PIXELS: u64 = 100_000_000;

/// Looks at the data of a display, which is valid JSON already. Takes a time that grows with its length.
pub fn check(display: &Display) -> Result<(), DisplayFault> {
    let data = display.data.get().as_bytes();
    match display.media_type.written() {
        Written::Json => return Ok(()),
        Written::Text | Written::Base64 if data.first() != Some(&b'"') => {
            return Err(DisplayFault::NotText);
        }
        Written::Text => return Ok(()),
        Written::Base64 => {}
    }
    // Base64 needs no escapes, so it stands in JSON as it is.
    let text = data.get(1..data.len() - 1).unwrap_or_default();
    check_base64(text)?;
    let picture = Base64(text);
    let pixels = match display.media_type {
        MediaType::Png => png(&picture),
        MediaType::Jpeg => jpeg(&picture),
        MediaType::Gif => gif(&picture),
        // Four bytes of ones go before each message. It is no picture.
        MediaType::Arrow => text.starts_with(b"/////").then_some(0),
        _ => Some(0),
    };
    match pixels {
        None => Err(DisplayFault::NotOfItsType),
        Some(count) if count > MAX_PIXELS => Err(DisplayFault::TooManyPixels),
        Some(_) => Ok(()),
    }
}

fn check_base64(text: &[u8]) -> Result<(), DisplayFault> {
    let padding = text.iter().rev().take(2).take_while(|byte| **byte == b'=').count();
    let body = &text[..text.len() - padding];
    let is_so = text.len().is_multiple_of(4) && body.iter().all(|byte| value(*byte).is_some());
    if is_so { Ok(()) } else { Err(DisplayFault::NotBase64) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::base64::encode;
    use crate::raster::tests::{gif_of, jpeg_of, png_of};

    fn display(media_type: MediaType, data: &str) -> Display {
        Display { media_type, data: RawValue::from_string(data.into()).unwrap() }
    }

    fn base64(bytes: &[u8]) -> String {
        format!("\"{}\"", encode(bytes))
    }

    #[test]
    fn each_type_begins_as_it_must() {
        for (media_type, bytes) in [
            (MediaType::Png, png_of(640, 480)),
            (MediaType::Jpeg, jpeg_of(640, 480)),
            (MediaType::Gif, gif_of((640, 480), (640, 480))),
            (MediaType::Arrow, b"\xff\xff\xff\xff\x10\0\0\0".to_vec()),
        ] {
            assert_eq!(check(&display(media_type, &base64(&bytes))), Ok(()), "{media_type:?}");
            let other = base64(b"<script>alert(1)</script>");
            assert_eq!(check(&display(media_type, &other)), Err(DisplayFault::NotOfItsType));
            assert_eq!(check(&display(media_type, "\"\"")), Err(DisplayFault::NotOfItsType));
            assert_eq!(check(&display(media_type, "7")), Err(DisplayFault::NotText));
            for garbage in ["\"a\"", "\"ab=c\"", "\"a===\"", "\"iVBO Rw0\"", r#""\u0061bcd""#] {
                let fault = check(&display(media_type, garbage)).unwrap_err();
                assert_eq!(fault, DisplayFault::NotBase64, "{garbage}");
            }
        }
    }

    #[test]
    fn text_is_text_and_json_is_anything() {
        for media_type in [MediaType::Html, MediaType::Svg, MediaType::Markdown, MediaType::Plain] {
            assert_eq!(check(&display(media_type, "\"<b>\"")), Ok(()));
            assert_eq!(check(&display(media_type, "{}")), Err(DisplayFault::NotText));
        }
        for media_type in [MediaType::Json, MediaType::Plotly] {
            assert_eq!(check(&display(media_type, r#"{"data":[]}"#)), Ok(()));
        }
    }

    #[test]
    fn a_picture_that_would_fill_its_viewer_is_no_display() {
        let fault = |media_type, bytes: Vec<u8>| check(&display(media_type, &base64(&bytes)));
        let large = Err(DisplayFault::TooManyPixels);
        assert_eq!(fault(MediaType::Png, png_of(10_000, 10_000)), Ok(()));
        assert_eq!(fault(MediaType::Png, png_of(10_000, 10_001)), large);
        assert_eq!(fault(MediaType::Png, png_of(u32::MAX, u32::MAX)), large);
        assert_eq!(fault(MediaType::Jpeg, jpeg_of(10_000, 10_000)), Ok(()));
        assert_eq!(fault(MediaType::Jpeg, jpeg_of(10_001, 10_000)), large);
        assert_eq!(fault(MediaType::Gif, gif_of((10_000, 10_000), (1, 1))), Ok(()));
        assert_eq!(fault(MediaType::Gif, gif_of((10_001, 10_000), (1, 1))), large);
        assert_eq!(fault(MediaType::Gif, gif_of((1, 1), (10_000, 10_000))), large);
        let cut = png_of(1, 1)[..18].to_vec();
        assert_eq!(fault(MediaType::Png, cut), Err(DisplayFault::NotOfItsType));
    }

    #[test]
    fn media_types_are_a_closed_list() {
        for media_type in MediaType::ALL {
            let word = format!("\"{}\"", media_type.as_str());
            assert_eq!(serde_json::from_str::<MediaType>(&word).unwrap(), *media_type);
            assert_eq!(serde_json::to_string(media_type).unwrap(), word);
        }
        for word in ["text/javascript", "image/PNG", "image/png ", "text/html;charset=utf-7", ""] {
            assert!(serde_json::from_str::<MediaType>(&format!("\"{word}\"")).is_err(), "{word}");
        }
    }

    proptest! {
        #[test]
        fn bytes_in_base64_pass_and_any_text_is_survived(
            bytes in prop::collection::vec(any::<u8>(), 0..64),
            text in ".{0,64}",
            which in 0..MediaType::ALL.len(),
        ) {
            let mut whole = png_of(7, 7);
            whole.extend(bytes);
            prop_assert_eq!(check(&display(MediaType::Png, &base64(&whole))), Ok(()));
            let data = serde_json::to_string(&text).unwrap();

            let looked = check(&display(MediaType::ALL[which], &data));
            prop_assert!(looked.is_ok() || MediaType::ALL[which].written() == Written::Base64);
        }
    }
}
