//! The content coding `gzip` (RFC 1952), as a host sends it.

use miniz_oxide::deflate::compress_to_vec;

/// One member.
pub fn gzip(plain: &[u8]) -> Vec<u8> {
    let head = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    [&head[..], &body(plain)].concat()
}

/// One member with extra bytes, the file name `name`, a comment, and a header checksum.
pub fn gzip_named(plain: &[u8], name: &[u8]) -> Vec<u8> {
    let mut head = vec![0x1f, 0x8b, 8, 0b1_1110, 1, 2, 3, 4, 2, 3];
    head.extend_from_slice(&[4, 0, b'A', b'B', 0, 0]);
    head.extend_from_slice(name);
    head.extend_from_slice(b"\0a comment\0");
    let [low, high, ..] = crc32(&head).to_le_bytes();
    head.extend_from_slice(&[low, high]);
    [head, body(plain)].concat()
}

fn body(plain: &[u8]) -> Vec<u8> {
    let length = plain.len() as u32;
    let trailer = [crc32(plain).to_le_bytes(), length.to_le_bytes()].concat();
    [compress_to_vec(plain, 6), trailer].concat()
}

/// Bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |rest, _| {
            if rest & 1 == 1 { (rest >> 1) ^ 0xedb8_8320 } else { rest >> 1 }
        })
    })
}
