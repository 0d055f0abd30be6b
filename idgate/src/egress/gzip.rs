//! The content coding `gzip` (RFC 9110 8.4.1.3): one member (RFC 1952), inflated as it arrives, in
//! parts that are never larger than a buffer. The caller decides when to stop.

use std::array;
use std::sync::LazyLock;

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_HAS_MORE_INPUT;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

use super::EgressError;
use crate::limits::{INFLATED_PART_BYTES, MAX_GZIP_HEAD_BYTES};

/// Flags of a member's head (RFC 1952 2.3.1).
const FHCRC: u8 = 0b0_0010;
const FEXTRA: u8 = 0b0_0100;
const FNAME: u8 = 0b0_1000;
const FCOMMENT: u8 = 0b1_0000;
const RESERVED: u8 = 0b1110_0000;
const FIXED_HEAD_BYTES: usize = 10;
/// CRC32 and ISIZE.
const TRAILER_BYTES: usize = 8;

/// One member, and how far it was read.
pub(super) struct Gzip {
    part: Part,
    inflating: Box<DecompressorOxide>,
    /// The last inflated bytes. Later bytes may refer to up to 32 KiB of them.
    inflated: Vec<u8>,
    /// The position of the next byte.
    at: usize,
    /// The buffer is full, and some of the input is not inflated yet.
    has_more: bool,
    crc: u32,
    /// The number of all inflated bytes, modulo 2^32.
    length: u32,
}

enum Part {
    Head(Vec<u8>),
    Deflated,
    Trailer(Vec<u8>),
    Over,
}

impl Gzip {
    pub(super) fn new() -> Self {
        Self {
            part: Part::Head(Vec::new()),
            inflating: Box::default(),
            inflated: vec![0; INFLATED_PART_BYTES],
            at: 0,
            has_more: false,
            crc: u32::MAX,
            length: 0,
        }
    }

    /// Whether another step without further bytes inflates more.
    pub(super) fn has_more(&self) -> bool {
        self.has_more
    }

    /// Reads from `bytes`. Returns how many bytes it took, and the inflated part, of at most
    /// [`INFLATED_PART_BYTES`].
    pub(super) fn step(&mut self, bytes: &[u8]) -> Result<(usize, &[u8]), EgressError> {
        match &mut self.part {
            Part::Head(head) => {
                let before = head.len();
                let room = MAX_GZIP_HEAD_BYTES.saturating_sub(before).min(bytes.len());
                head.extend_from_slice(bytes.get(..room).unwrap_or_default());
                let end = match end_of_head(head)? {
                    Some(end) => end,
                    None if head.len() < MAX_GZIP_HEAD_BYTES => return Ok((room, &[])),
                    None => return Err(EgressError::BadCoding),
                };
                self.part = Part::Deflated;
                Ok((end.saturating_sub(before), &[]))
            }
            Part::Deflated => self.inflate(bytes),
            Part::Trailer(trailer) => {
                let room = TRAILER_BYTES.saturating_sub(trailer.len()).min(bytes.len());
                trailer.extend_from_slice(bytes.get(..room).unwrap_or_default());
                if trailer.len() == TRAILER_BYTES {
                    let told = [(!self.crc).to_le_bytes(), self.length.to_le_bytes()].concat();
                    if *trailer != told {
                        return Err(EgressError::BadCoding);
                    }
                    self.part = Part::Over;
                }
                Ok((room, &[]))
            }
            Part::Over if bytes.is_empty() => Ok((0, &[])),
            Part::Over => Err(EgressError::TrailingBytes),
        }
    }

    /// Checks the end: no more bytes follow.
    pub(super) fn end(&self) -> Result<(), EgressError> {
        match self.part {
            Part::Over => Ok(()),
            Part::Head(_) | Part::Deflated | Part::Trailer(_) => Err(EgressError::BadCoding),
        }
    }

    fn inflate(&mut self, bytes: &[u8]) -> Result<(usize, &[u8]), EgressError> {
        let Self { inflating, inflated, at, .. } = self;
        let begin = *at;
        let (status, read, written) =
            decompress(inflating, bytes, inflated, begin, TINFL_FLAG_HAS_MORE_INPUT);
        let end = begin.saturating_add(written);
        // The buffer is a ring.
        *at = if end < inflated.len() { end } else { 0 };
        self.has_more = status == TINFLStatus::HasMoreOutput;
        match status {
            TINFLStatus::Done => self.part = Part::Trailer(Vec::with_capacity(TRAILER_BYTES)),
            TINFLStatus::NeedsMoreInput | TINFLStatus::HasMoreOutput => {}
            _ => return Err(EgressError::BadCoding),
        }
        let part = self.inflated.get(begin..end).unwrap_or_default();
        self.crc = crc_with(self.crc, part);
        self.length = self.length.wrapping_add(u32::try_from(written).unwrap_or_default());
        Ok((read, part))
    }
}

/// The end of the head at the start of `bytes` (RFC 1952 2.3); `None`: beyond `bytes`.
fn end_of_head(bytes: &[u8]) -> Result<Option<usize>, EgressError> {
    let flags = match bytes.get(..FIXED_HEAD_BYTES) {
        None => return Ok(None),
        // 8 is the only compression method.
        Some([0x1f, 0x8b, 8, flags, ..]) if flags & RESERVED == 0 => *flags,
        Some(_) => return Err(EgressError::BadCoding),
    };
    let mut at = FIXED_HEAD_BYTES;
    if flags & FEXTRA != 0 {
        let Some([low, high]) = bytes.get(at..at.saturating_add(2)) else { return Ok(None) };
        at = at.saturating_add(2).saturating_add(u16::from_le_bytes([*low, *high]).into());
    }
    for _ in [FNAME, FCOMMENT].iter().filter(|text| flags & **text != 0) {
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(length) = rest.iter().position(|byte| *byte == 0) else { return Ok(None) };
        at = at.saturating_add(length).saturating_add(1);
    }
    if flags & FHCRC != 0 {
        at = at.saturating_add(2);
    }
    Ok((at <= bytes.len()).then_some(at))
}

/// The CRC of a text whose CRC was `crc`, with `bytes` appended. RFC 1952 8 begins and ends with its complement.
fn crc_with(crc: u32, bytes: &[u8]) -> u32 {
    static TABLE: LazyLock<[u32; 256]> = LazyLock::new(|| {
        array::from_fn(|byte| {
            let byte = u32::try_from(byte).unwrap_or_default();
            (0..8).fold(byte, |rest, _| (rest >> 1) ^ if rest & 1 == 1 { 0xedb8_8320 } else { 0 })
        })
    });
    let table: &[u32; 256] = &TABLE;
    bytes.iter().fold(crc, |crc, byte| {
        let [low, ..] = crc.to_le_bytes();
        (crc >> 8) ^ table.get(usize::from(low ^ byte)).copied().unwrap_or_default()
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use idgate_testkit::gzip::{gzip, gzip_named};

    use super::*;

    /// The outcome for `coded` in pieces of so many bytes, and how much was inflated for it.
    fn inflated(coded: &[u8], piece: usize) -> Result<Vec<u8>, EgressError> {
        let (mut member, mut whole) = (Gzip::new(), Vec::new());
        for mut bytes in coded.chunks(piece) {
            while !bytes.is_empty() || member.has_more() {
                let (read, part) = member.step(bytes)?;
                assert!(part.len() <= INFLATED_PART_BYTES);
                whole.extend_from_slice(part);
                bytes = &bytes[read..];
            }
        }
        member.end().map(|()| whole)
    }

    fn noise(length: u32) -> Vec<u8> {
        (0..length).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
    }

    #[test]
    fn a_member_is_inflated_whatever_pieces_it_comes_in() {
        // `printf hello | gzip -n`
        let of_another = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\x07\x00\x86\xa6\x10\x36\x05\x00\x00\x00";
        for piece in 1..=of_another.len() {
            assert_eq!(inflated(of_another, piece).unwrap(), b"hello", "{piece}");
        }
        for plain in [Vec::new(), noise(200_000), vec![0; 1_000_000], b"ab".repeat(40_000)] {
            let coded = gzip(&plain);
            for piece in [1, 2, 3, 7, 1000, coded.len()] {
                assert!(inflated(&coded, piece).unwrap() == plain, "{} {piece}", plain.len());
            }
        }
    }

    #[test]
    fn optional_gzip_header_fields_are_skipped_up_to_a_limit() {
        let coded = gzip_named(b"hello", &[b'n'; 100]);
        for piece in [1, 50, coded.len()] {
            assert_eq!(inflated(&coded, piece).unwrap(), b"hello");
        }
        let long = gzip_named(b"hello", &[b'n'; MAX_GZIP_HEAD_BYTES]);
        for piece in [1, 50, long.len()] {
            assert_eq!(inflated(&long, piece), Err(EgressError::BadCoding));
        }
    }

    #[test]
    fn a_cut_or_changed_member_is_refused() {
        let whole = gzip(b"a status list");
        for length in 0..whole.len() {
            assert_eq!(inflated(&whole[..length], 7), Err(EgressError::BadCoding), "{length}");
        }
        // Magic number, method, flags, and each byte of the trailer; time and system say nothing.
        let trailer = whole.len() - TRAILER_BYTES..whole.len();
        for (at, bit) in [(0, 1), (1, 1), (2, 1), (3, 0x20), (3, 0x80)]
            .into_iter()
            .chain(trailer.map(|at| (at, 1)))
        {
            let mut changed = whole.clone();
            changed[at] ^= bit;
            assert_eq!(inflated(&changed, 7), Err(EgressError::BadCoding), "{at}");
        }
    }

    #[test]
    fn no_bytes_and_no_member_may_follow_a_gzip_member() {
        let whole = gzip(b"hello");
        for more in [&b"\0"[..], &whole] {
            let followed = [&whole[..], more].concat();
            for piece in [1, followed.len()] {
                assert_eq!(inflated(&followed, piece), Err(EgressError::TrailingBytes));
            }
        }
    }
}
