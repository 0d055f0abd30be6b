//! The most expensive JSON and CBOR, in any size, for every place where they are read.

/// Generators of inputs of a given size, by name.
pub type Filling = (&'static str, fn(usize) -> Vec<u8>);

/// `part` repeated between `open` and `close`, in about `size` bytes.
fn repeated(open: &str, part: &str, close: &str, size: usize) -> Vec<u8> {
    let count = size.saturating_sub(open.len() + close.len()) / part.len();
    let parts = part.repeat(count.max(1));
    format!("{open}{}{close}", parts.trim_end_matches(',')).into_bytes()
}

/// Members with these names, in about `size` bytes.
fn members(size: usize, bytes_each: usize, name: impl Fn(usize) -> String) -> Vec<u8> {
    let count = (size / (bytes_each + 5)).max(1);
    let members: Vec<String> = (0..count).map(|at| format!("\"{}\":0", name(at))).collect();
    format!("{{{}}}", members.join(",")).into_bytes()
}

/// Maps different numbers to different numbers, without order.
fn scattered(at: usize) -> u32 {
    u32::try_from(at).unwrap_or_default().wrapping_mul(2_654_435_761)
}

/// Texts that are JSON, or nearly.
pub const JSON: &[Filling] = &[
    ("an array of ones", |size| repeated("[", "1,", "]", size)),
    ("empty arrays", |size| repeated("[", "[],", "]", size)),
    ("nested arrays", |size| {
        let part = format!("{}1{},", "[".repeat(30), "]".repeat(30));
        repeated("[", &part, "]", size)
    }),
    ("empty objects", |size| repeated("[", "{},", "]", size)),
    ("objects of 16 members", |size| {
        let members: Vec<String> = (0..16).map(|at| format!("\"aaaaaaaaa{at:x}\":0")).collect();
        repeated("[", &format!("{{{}}},", members.join(",")), "]", size)
    }),
    ("many names, descending", |size| members(size, 8, |at| format!("{:08}", 99_999_999 - at))),
    ("many names in no order", |size| members(size, 8, |at| format!("{:08x}", scattered(at)))),
    ("long names that differ at the end", |size| {
        members(size, 1000, |at| format!("{}{at:08}", "a".repeat(992)))
    }),
    ("sixteen names that differ at the end", |size| {
        let length = (size / 16).saturating_sub(8);
        members(size, length, |at| format!("{}{at:04}", "a".repeat(length.saturating_sub(4))))
    }),
    ("escaped names", |size| {
        members(size, 13, |at| format!("\\u0061\\u{:04x}", at % 0x8000 + 0x20))
    }),
    ("long escaped names", |size| {
        members(size, 606, |at| format!("{}{at:06}", "\\u0061".repeat(100)))
    }),
    ("numbers between two doubles", |size| {
        repeated("[", "9007199254740993.00000000000001e0,", "]", size)
    }),
    ("numbers at the edge of a double", |size| repeated("[", "17976931348623158e292,", "]", size)),
    ("numbers near nothing", |size| repeated("[", "2.2250738585072011e-308,", "]", size)),
    ("numbers of 400 digits", |size| repeated("[", &format!("0.{},", "7".repeat(400)), "]", size)),
    ("one long number", |size| repeated("[0.", "1", "]", size)),
    ("one long exponent", |size| repeated("[1e-", "1", "]", size)),
    ("an escaped string", |size| repeated("[\"", "\\u00e9", "\"]", size)),
    ("surrogate pairs", |size| repeated("[\"", "\\ud83d\\ude00", "\"]", size)),
    ("short strings", |size| repeated("[", "\"\",", "]", size)),
    ("white space", |size| repeated("[", " ", "1]", size)),
    ("text that is not ASCII", |size| repeated("[\"", "\u{10ffff}", "\"]", size)),
];

/// An array of `part`s, in about `size` bytes.
fn array(part: &[u8], size: usize) -> Vec<u8> {
    let count = (size.saturating_sub(5) / part.len()).max(1);
    let head = [&[0x9a][..], &u32::try_from(count).unwrap_or_default().to_be_bytes()].concat();
    [head, part.repeat(count)].concat()
}

/// A map of `count` entries.
fn map(count: usize, entry: impl Fn(u32) -> Vec<u8>) -> Vec<u8> {
    let count = u32::try_from(count).unwrap_or_default();
    let head = [&[0xba][..], &count.to_be_bytes()].concat();
    [head, (0..count).flat_map(entry).collect()].concat()
}

/// A text string in chunks of one byte.
fn chunked(text: &str) -> Vec<u8> {
    [&[0x7f][..], &text.bytes().flat_map(|byte| [0x61, byte]).collect::<Vec<_>>(), &[0xff]].concat()
}

/// Documents that are CBOR, or nearly.
pub const CBOR: &[Filling] = &[
    ("an array of zeros", |size| array(&[0], size)),
    ("an array without length", |size| [&[0x9f][..], &vec![0; size], &[0xff]].concat()),
    ("empty arrays", |size| array(&[0x80], size)),
    ("nested arrays", |size| array(&[&[0x81; 30][..], &[0]].concat(), size)),
    ("tags", |size| array(&[0xc1, 0xc1, 0xc1, 0], size)),
    ("half floats", |size| array(&[0xf9, 0x03, 0xff], size)),
    ("empty maps", |size| array(&[0xa0], size)),
    ("maps of 16 keys", |size| {
        let entries = (0..16u8).flat_map(|at| [&[0x68][..], b"aaaaaaa", &[b'a' + at, 0]].concat());
        array(&[&[0xb0][..], &entries.collect::<Vec<_>>()].concat(), size)
    }),
    ("many keys, descending", |size| {
        map(size / 6, |at| [&[0x1a][..], &(u32::MAX - at).to_be_bytes(), &[0]].concat())
    }),
    ("many keys in no order", |size| {
        map(size / 6, |at| {
            let number = scattered(usize::try_from(at).unwrap_or_default());
            [&[0x1a][..], &number.to_be_bytes(), &[0]].concat()
        })
    }),
    ("many texts in no order", |size| {
        map(size / 10, |at| {
            let text = format!("{:08x}", scattered(usize::try_from(at).unwrap_or_default()));
            [&[0x68][..], text.as_bytes(), &[0]].concat()
        })
    }),
    ("long keys that differ at the end", |size| {
        map(size / 1004, |at| {
            let key = format!("{}{at:08}", "a".repeat(992));
            [&[0x79, 0x03, 0xe8][..], key.as_bytes(), &[0]].concat()
        })
    }),
    ("a text in chunks", |size| chunked(&"a".repeat(size / 2))),
    ("sixteen keys in chunks", |size| {
        let length = (size / 32).saturating_sub(8);
        map(16, |at| [chunked(&format!("{}{at:04}", "a".repeat(length))), vec![0]].concat())
    }),
    ("many keys in chunks", |size| {
        map(size / 20, |at| [chunked(&format!("{at:08}")), vec![0]].concat())
    }),
    ("short strings", |size| array(&[0x60], size)),
    ("long heads", |size| array(&[0x1b, 0, 0, 0, 0, 0, 0, 0, 0], size)),
    ("text that is not ASCII", |size| {
        array(&[&[0x74][..], "\u{10ffff}".repeat(5).as_bytes()].concat(), size)
    }),
];
