//! zlib (RFC 1950) with a limit on the output. The limit is checked while inflating, so that a bomb
//! costs no more than the limit.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::{
    TINFL_FLAG_PARSE_ZLIB_HEADER, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
};
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

use super::super::context::unknown;
use crate::error::VerifyError;
use crate::limits::MAX_STATUS_LIST_BYTES;
use crate::work;

const FLAGS: u32 = TINFL_FLAG_PARSE_ZLIB_HEADER | TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
/// Initial capacity: lists of revoked credentials are mostly zeros and compress to a hundredth.
const FIRST_BYTES: usize = 16 * 1024;
/// One byte beyond the limit shows that it is exceeded.
const LAST_BYTES: usize = MAX_STATUS_LIST_BYTES + 1;

/// Inflates exactly one zlib stream; its checksum must be correct and nothing may follow.
pub(super) fn zlib(mut deflated: &[u8]) -> Result<Vec<u8>, VerifyError> {
    let mut state = Box::<DecompressorOxide>::default();
    let mut out = vec![0; deflated.len().saturating_mul(2).clamp(FIRST_BYTES, LAST_BYTES)];
    let mut filled = 0;
    loop {
        let (status, read, written) = decompress(&mut state, deflated, &mut out, filled, FLAGS);
        deflated = deflated.get(read..).unwrap_or_default();
        filled = filled.saturating_add(written);
        work::steps(read.saturating_add(written));
        if filled > MAX_STATUS_LIST_BYTES {
            return Err(unknown("the status list inflates beyond 32 MiB"));
        }
        match status {
            TINFLStatus::Done if deflated.is_empty() => break,
            TINFLStatus::HasMoreOutput if out.len() < LAST_BYTES => {
                out.resize(out.len().saturating_mul(2).min(LAST_BYTES), 0);
            }
            _ => return Err(unknown("lst of the status list is not one zlib stream")),
        }
    }
    out.truncate(filled);
    out.shrink_to_fit();
    Ok(out)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use miniz_oxide::deflate::compress_to_vec_zlib;

    use super::*;

    #[test]
    fn inflates_deflated_data() {
        let noise: Vec<u8> =
            (0u32..100_000).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for plain in [&b""[..], b"\xb9\xa3", &noise, &[0; 300_000]] {
            assert_eq!(zlib(&compress_to_vec_zlib(plain, 6)).unwrap(), plain);
        }
    }

    #[test]
    fn a_list_has_at_most_32_mib() {
        let largest = compress_to_vec_zlib(&vec![0; MAX_STATUS_LIST_BYTES], 1);
        assert_eq!(zlib(&largest).unwrap().len(), MAX_STATUS_LIST_BYTES);
        let bomb = compress_to_vec_zlib(&vec![0; MAX_STATUS_LIST_BYTES + 1], 1);
        assert!(zlib(&bomb).unwrap_err().detail.contains("32 MiB"));
    }

    #[test]
    fn a_truncated_stream_is_refused() {
        let whole = compress_to_vec_zlib(&[7; 1000], 6);
        for len in 0..whole.len() {
            assert!(zlib(&whole[..len]).is_err(), "{len}");
        }
    }

    #[test]
    fn a_changed_or_followed_stream_is_refused() {
        let whole = compress_to_vec_zlib(b"a status list", 6);
        let followed = [&whole[..], b"\0"].concat();
        let mut checksum = whole.clone();
        *checksum.last_mut().unwrap() ^= 1;
        let raw_deflate = &whole[2..whole.len() - 4];
        for bad in [&followed, &checksum, raw_deflate, b"no zlib at all"] {
            assert!(zlib(bad).is_err());
        }
    }
}
