//! Frames (RFC 6455 5), as far as a status stream needs them: texts and control frames are sent,
//! control frames are received. A data frame is refused after its first bytes, so that none of its
//! content is kept.

use super::Close;
use crate::limits::{MAX_CONTROL_BYTES, MAX_FRAME_BYTES};

const FIN: u8 = 0x80;
const RESERVED: u8 = 0x70;
const MASKED: u8 = 0x80;

/// The frames that the gateway sends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Opcode {
    Text = 0x1,
    Close = 0x8,
    Ping = 0x9,
    Pong = 0xA,
}

/// A control frame from the peer.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Incoming {
    /// With a status code, if the peer sent one.
    Close(Option<u16>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
}

/// Appends an unfragmented, unmasked frame, as servers send them (RFC 6455 5.1).
pub(super) fn write(out: &mut Vec<u8>, opcode: Opcode, payload: &[u8]) {
    out.push(FIN | opcode as u8);
    match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
        (Ok(length @ 0..=125), _) => out.push(length),
        (_, Ok(length)) => {
            out.push(126);
            out.extend_from_slice(&length.to_be_bytes());
        }
        _ => {
            out.push(127);
            let length = u64::try_from(payload.len()).unwrap_or(u64::MAX);
            out.extend_from_slice(&length.to_be_bytes());
        }
    }
    out.extend_from_slice(payload);
}

/// Takes the first complete frame out of `buffer`; `None` if there is none yet.
///
/// # Errors
/// The peer broke the protocol, or sent a frame that a stream does not accept.
pub(super) fn take(buffer: &mut Vec<u8>) -> Result<Option<Incoming>, Close> {
    let Some((&[first, second], rest)) = buffer.split_first_chunk::<2>() else { return Ok(None) };
    let opcode = first & 0x0F;
    // No extension was negotiated that would use a reserved bit (RFC 6455 5.2).
    if first & RESERVED != 0 || second & MASKED == 0 {
        return Err(Close::BadFrame);
    }
    let is_control = matches!(opcode, 0x8..=0xA);
    let length = second & !MASKED;
    match announced(length, rest) {
        Some(length) if length > MAX_FRAME_BYTES => return Err(Close::TooLarge),
        Some(_) => {}
        None => return Ok(None),
    }
    // Control frames are short and not fragmented (RFC 6455 5.5).
    if !is_control || first & FIN == 0 || length > MAX_CONTROL_BYTES {
        return Err(Close::BadFrame);
    }
    let length = usize::from(length);
    let Some((mask, rest)) = rest.split_first_chunk::<4>() else { return Ok(None) };
    let Some(masked) = rest.get(..length) else { return Ok(None) };
    let unmasked = masked.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask);
    let payload: Vec<u8> = unmasked.collect();
    buffer.drain(..length.saturating_add(6));
    match opcode {
        0x8 => close_code(&payload).map(|code| Some(Incoming::Close(code))),
        0x9 => Ok(Some(Incoming::Ping(payload))),
        _ => Ok(Some(Incoming::Pong(payload))),
    }
}

/// The payload's length, from its seven bits and the bytes that follow; `None` if these are
/// incomplete.
fn announced(bits: u8, rest: &[u8]) -> Option<u64> {
    match bits {
        126 => rest.first_chunk().map(|bytes| u64::from(u16::from_be_bytes(*bytes))),
        127 => rest.first_chunk().map(|bytes| u64::from_be_bytes(*bytes)),
        length => Some(u64::from(length)),
    }
}

/// The code of a close frame: none, or one that may be sent, followed by a reason in UTF-8 (RFC
/// 6455 5.5.1 and 7.4).
fn close_code(payload: &[u8]) -> Result<Option<u16>, Close> {
    if payload.is_empty() {
        return Ok(None);
    }
    let (code, reason) = payload.split_first_chunk::<2>().ok_or(Close::BadFrame)?;
    let code = u16::from_be_bytes(*code);
    let may_be_sent = matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999);
    if !may_be_sent || std::str::from_utf8(reason).is_err() {
        return Err(Close::BadFrame);
    }
    Ok(Some(code))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const MASK: [u8; 4] = [1, 2, 3, 4];

    fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        write(&mut frame, Opcode::Ping, payload);
        frame[0] = first;
        frame[1] |= MASKED;
        let at = frame.len() - payload.len();
        frame.splice(at..at, MASK);
        let unmasked = frame.iter_mut().skip(at + 4);
        unmasked.zip(MASK.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
        frame
    }

    #[test]
    fn control_frames_are_read_one_by_one_however_they_are_chunked() {
        let ping = masked(0x89, b"abcde");
        let mut buffer = Vec::new();
        for byte in &ping {
            assert_eq!(take(&mut buffer), Ok(None));
            buffer.push(*byte);
        }
        buffer.extend(masked(0x8A, &[0xFF; 125]));
        buffer.extend(masked(0x88, b"\x0f\xa0bye"));
        buffer.extend(masked(0x88, b""));
        assert_eq!(take(&mut buffer), Ok(Some(Incoming::Ping(b"abcde".to_vec()))));
        assert_eq!(take(&mut buffer), Ok(Some(Incoming::Pong(vec![0xFF; 125]))));
        assert_eq!(take(&mut buffer), Ok(Some(Incoming::Close(Some(4000)))));
        assert_eq!(take(&mut buffer), Ok(Some(Incoming::Close(None))));
        assert!(buffer.is_empty());
    }

    #[test]
    fn anything_but_a_masked_control_frame_is_refused_after_its_first_bytes() {
        for first in (0..=0xFF).filter(|first| !matches!(first, 0x88..=0x8A)) {
            let refused = take(&mut vec![first, MASKED | 1]);
            assert_eq!(refused, Err(Close::BadFrame), "{first:#x}");
        }
        assert_eq!(take(&mut vec![0x89, 1]), Err(Close::BadFrame), "unmasked");
    }

    #[test]
    fn frames_over_1024_bytes_are_too_large_and_smaller_invalid_ones_are_bad_frames() {
        for (length, close) in [
            (&[MASKED | 126, 0, 126][..], Close::BadFrame),
            (&[MASKED | 126, 4, 0], Close::BadFrame),
            (&[MASKED | 126, 4, 1], Close::TooLarge),
            (&[MASKED | 127, 0, 0, 0, 0, 0, 0, 0, 1], Close::BadFrame),
            (&[MASKED | 127, 0, 0, 0, 0, 0, 0, 4, 1], Close::TooLarge),
            (&[MASKED | 127, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], Close::TooLarge),
        ] {
            for first in [0x81, 0x89] {
                assert_eq!(take(&mut [&[first], length].concat()), Err(close), "{length:?}");
            }
        }
    }

    #[test]
    fn a_close_frame_has_a_permitted_code_and_a_utf8_reason() {
        for code in [1000, 1003, 1007, 1014, 3000, 4999] {
            let frame = masked(0x88, &u16::to_be_bytes(code));
            assert_eq!(take(&mut frame.clone()), Ok(Some(Incoming::Close(Some(code)))));
        }
        for code in [0, 999, 1004, 1005, 1006, 1015, 2999, 5000, 65535] {
            let frame = masked(0x88, &u16::to_be_bytes(code));
            assert_eq!(take(&mut frame.clone()), Err(Close::BadFrame), "{code}");
        }
        assert_eq!(take(&mut masked(0x88, b"\x03")), Err(Close::BadFrame));
        assert_eq!(take(&mut masked(0x88, b"\x03\xe8\xff")), Err(Close::BadFrame));
    }

    #[test]
    fn lengths_are_written_in_the_shortest_form() {
        for (length, header) in
            [(125, &[0x81, 125][..]), (126, &[0x81, 126, 0, 126]), (65535, &[0x81, 126, 255, 255])]
        {
            let mut out = Vec::new();
            write(&mut out, Opcode::Text, &vec![b'x'; length]);
            assert_eq!((out.get(..header.len()), out.len()), (Some(header), header.len() + length));
        }
    }
}
