//! How large a picture in base64 says it is, without decoding it.
//!
//! A few bytes can be a picture that fills the memory of whoever looks at it. What is read here is hostile: every
//! step goes forward, and takes no more than a few bytes from where it is.

use crate::base64::value;

/// Base64 without what is around it, read byte by byte. Its letters were checked.
pub(crate) struct Base64<'a>(pub &'a [u8]);

impl Base64<'_> {
    /// The byte at this place; `None` behind the end.
    fn byte(&self, at: usize) -> Option<u8> {
        let first = at / 3 * 4 + at % 3;
        let high = value(*self.0.get(first)?)?;
        let low = value(*self.0.get(first + 1)?)?;
        Some(match at % 3 {
            0 => high << 2 | low >> 4,
            1 => high << 4 | low >> 2,
            _ => high << 6 | low,
        })
    }

    fn bytes<const COUNT: usize>(&self, at: usize) -> Option<[u8; COUNT]> {
        let mut bytes = [0; COUNT];
        for (place, byte) in bytes.iter_mut().enumerate() {
            *byte = self.byte(at.checked_add(place)?)?;
        }
        Some(bytes)
    }
}

/// How many pixels a PNG has: width and height stand in its first chunk. Here and below, `None` is a picture that does
/// not say.
pub(crate) fn png(picture: &Base64<'_>) -> Option<u64> {
    let begins = picture.bytes::<16>(0)? == *b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    let width = u32::from_be_bytes(picture.bytes(16)?);
    let height = u32::from_be_bytes(picture.bytes(20)?);
    begins.then_some(u64::from(width) * u64::from(height))
}

/// The same of a JPEG: width and height stand in the header of its frame, before which other segments come.
pub(crate) fn jpeg(picture: &Base64<'_>) -> Option<u64> {
    if picture.bytes::<3>(0)? != [0xff, 0xd8, 0xff] {
        return None;
    }
    let mut at = 2;
    loop {
        let [mark, kind] = picture.bytes(at)?;
        match (mark, kind) {
            // Any number of these may stand before a marker.
            (0xff, 0xff) => at += 1,
            // Markers without a segment.
            (0xff, 0x01 | 0xd0..=0xd7) => at += 2,
            // The header of a frame. A height of nothing would come after its data.
            (0xff, 0xc0..=0xcf) if !matches!(kind, 0xc4 | 0xc8 | 0xcc) => {
                let height = u16::from_be_bytes(picture.bytes(at + 5)?);
                let width = u16::from_be_bytes(picture.bytes(at + 7)?);
                return (height > 0).then_some(u64::from(width) * u64::from(height));
            }
            // The data begins, or the picture ends, and there was no frame.
            (0xff, 0x00 | 0xd8..=0xda) => return None,
            (0xff, _) => at += 2 + usize::from(u16::from_be_bytes(picture.bytes(at + 2)?)),
            _ => return None,
        }
    }
}

/// The same of a GIF: the screen that it asks for, or that its frames need. Viewers make room for these too.
pub(crate) fn gif(picture: &Base64<'_>) -> Option<u64> {
    if !matches!(&picture.bytes::<6>(0)?, b"GIF87a" | b"GIF89a") {
        return None;
    }
    let number = |at| picture.bytes(at).map(u16::from_le_bytes).map(u64::from);
    let colours = |flags: u8| if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) };
    let (mut width, mut height) = (number(6)?, number(8)?);
    let mut at = 13 + colours(picture.byte(10)?);
    // What is cut off or no block shows nothing more.
    while let Some(kind) = picture.byte(at) {
        match kind {
            0x21 => at += 2,
            0x2c => {
                let Some(flags) = picture.byte(at + 9) else { break };
                width = width.max(number(at + 1)? + number(at + 5)?);
                height = height.max(number(at + 3)? + number(at + 7)?);
                at += 11 + colours(flags);
            }
            _ => break,
        }
        while let Some(length @ 1..) = picture.byte(at) {
            at += 1 + usize::from(length);
        }
        at += 1;
    }
    Some(width * height)
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::base64::encode;

    pub(crate) fn png_of(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend([8, 2, 0, 0, 0]);
        bytes
    }

    /// With a segment before its frame, as a camera makes them, and marks that fill.
    pub(crate) fn jpeg_of(width: u16, height: u16) -> Vec<u8> {
        let mut bytes = b"\xff\xd8\xff\xe1\0\x06Exif\xff\xff\xff\xc2\0\x0b\x08".to_vec();
        bytes.extend(height.to_be_bytes());
        bytes.extend(width.to_be_bytes());
        bytes.extend([1, 1, 0x11, 0, 0xff, 0xda]);
        bytes
    }

    /// A screen, a remark, and a frame with colours of its own.
    pub(crate) fn gif_of(screen: (u16, u16), frame: (u16, u16)) -> Vec<u8> {
        let mut bytes = b"GIF89a".to_vec();
        let pair = |bytes: &mut Vec<u8>, (width, height): (u16, u16)| {
            bytes.extend(width.to_le_bytes());
            bytes.extend(height.to_le_bytes());
        };
        pair(&mut bytes, screen);
        bytes.extend(b"\x80\0\0rgbRGB!\xfe\x02hi\x01!\0,");
        pair(&mut bytes, (1, 2));
        pair(&mut bytes, frame);
        bytes.extend(b"\x80rgbRGB\x02\x02\x4c\x01\0;");
        bytes
    }

    type Count = fn(&Base64<'_>) -> Option<u64>;

    fn size(count: Count, bytes: &[u8]) -> Option<u64> {
        count(&Base64(encode(bytes).as_bytes()))
    }

    #[test]
    fn each_kind_says_how_large_it_is() {
        assert_eq!(size(png, &png_of(640, 480)), Some(307_200));
        assert_eq!(size(jpeg, &jpeg_of(640, 480)), Some(307_200));
        assert_eq!(size(gif, &gif_of((640, 480), (20, 20))), Some(307_200));
        // A frame that does not fit its screen.
        assert_eq!(size(gif, &gif_of((1, 1), (65535, 65535))), Some(65536 * 65537));
        // A height that comes later, and data without a frame.
        assert_eq!(size(jpeg, &jpeg_of(640, 0)), None);
        assert_eq!(size(jpeg, b"\xff\xd8\xff\xda\0\x02"), None);
        for count in [png as Count, jpeg, gif] {
            assert_eq!(size(count, b"no picture, but some text"), None);
            assert_eq!(size(count, b""), None);
        }
        assert_eq!(size(png, &png_of(1, 1)[..18]), None);
        assert_eq!(size(jpeg, &jpeg_of(1, 1)[..18]), None);
    }

    proptest! {
        #[test]
        fn every_byte_is_found(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let text = encode(&bytes);
            let read = Base64(text.as_bytes());
            for (at, byte) in bytes.iter().enumerate() {
                prop_assert_eq!(read.byte(at), Some(*byte));
            }
            prop_assert_eq!(read.byte(bytes.len()), None);
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..256), which in 0..3_usize) {
            let (count, mut whole) = [
                (png as Count, png_of(1, 1)),
                (jpeg, jpeg_of(1, 1)[..10].to_vec()),
                (gif, gif_of((1, 1), (1, 1))[..19].to_vec()),
            ][which].clone();
            whole.extend(bytes);
            size(count, &whole);
        }
    }
}
