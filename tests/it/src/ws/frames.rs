//! Frames, following the cases of the Autobahn test suite for a stream that accepts control frames
//! only. The numbers are that suite's.

use super::*;
use crate::server::Installation;
use crate::tenant::{Gateway, request_for};

/// A gateway and a session whose streams are tested.
struct Peer {
    gateway: Gateway,
    session: String,
}

impl Peer {
    fn new() -> Self {
        Self::of(Gateway::start())
    }

    fn of(gateway: Gateway) -> Self {
        let session = gateway.tenant().create(&request_for(&["given_name"])).id;
        Self { gateway, session }
    }

    /// A stream on which only answers are expected.
    fn open(&self) -> Stream {
        let Self { gateway, session } = self;
        Stream::open_after(gateway.server.address, session, &gateway.client.api_key, 2)
    }

    /// Bytes that end the stream with this code.
    #[track_caller]
    fn refuses(&self, case: &str, bytes: &[u8], code: u16) {
        let mut stream = self.open();
        stream.send(bytes);
        assert_eq!(stream.close(), Some(code), "{case}");
    }
}

#[test]
fn pings_are_answered_and_pongs_are_not() {
    // The gateway, whose clock stands still, sends no pings of its own.
    let gateway = Gateway::start_on(Installation::new().with_machine());
    gateway.installation.machine().freeze();
    let peer = Peer::of(gateway);
    let mut stream = peer.open();
    for (case, payload) in [
        ("2.1", &b""[..]),
        ("2.2", b"Hello, world!"),
        ("2.3", b"\x00\xff\xfe\xfd\xfc\xfb\x00\xff"),
        ("2.4", &[0xfe; 125]),
    ] {
        stream.send(&frame(0x89, payload));
        assert_eq!(stream.next(), Got::Pong(payload.into()), "{case}");
    }
    for byte in frame(0x89, &[0xfe; 20]) {
        stream.send(&[byte]);
        peer.gateway.server.rest();
    }
    assert_eq!(stream.next(), Got::Pong(vec![0xfe; 20]), "2.6");
    let unsolicited = [frame(0x8A, b""), frame(0x8A, b"unsolicited"), frame(0x89, b"x")];
    stream.send(&unsolicited.concat());
    assert_eq!(stream.next(), Got::Pong(b"x".into()), "2.7 to 2.9");
    let ten: Vec<Vec<u8>> = (0..10).map(|n| format!("payload-{n}").into_bytes()).collect();
    stream.send(&ten.iter().flat_map(|payload| frame(0x89, payload)).collect::<Vec<_>>());
    for payload in ten {
        assert_eq!(stream.next(), Got::Pong(payload), "2.10");
    }
}

#[test]
fn client_messages_close_with_1008_and_large_ones_with_1009() {
    let peer = Peer::new();
    for opcode in [0x81, 0x82] {
        for (length, code) in
            [(0, 1008), (125, 1008), (126, 1008), (1024, 1008), (1025, 1009), (65536, 1009)]
        {
            peer.refuses("1.1 and 1.2", &frame(opcode, &vec![b'*'; length]), code);
        }
    }
    for (announced, code) in [(16 << 20, 1009), (u64::MAX, 1009), (1 << 63, 1009), (300, 1008)] {
        let mut header = vec![0x82, 0xff];
        header.extend(u64::to_be_bytes(announced));
        peer.refuses("9.1 and 9.2: by the header alone", &header, code);
    }
    for text in [&b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5"[..], b"\xf4\x90\x80\x80", b"\xff"]
    {
        peer.refuses("6: text is not even looked at", &frame(0x81, text), 1008);
    }
}

#[test]
fn fragmented_messages_are_rejected() {
    let peer = Peer::new();
    for (case, frames, code) in [
        ("5.1: a ping in two", vec![frame(0x09, b"frag"), frame(0x80, b"ment")], 1008),
        ("5.2: a pong in two", vec![frame(0x0A, b"frag"), frame(0x80, b"ment")], 1008),
        ("a close in two", vec![frame(0x08, b"\x03"), frame(0x80, b"\xe8")], 1008),
        ("5.3: a text in two", vec![frame(0x01, b"frag"), frame(0x80, b"ment")], 1008),
        ("the first part only", vec![frame(0x01, b"frag")], 1008),
        ("an empty first part", vec![frame(0x01, b"")], 1008),
        ("5.9: nothing to continue", vec![frame(0x80, b"continues")], 1008),
        ("5.12: nothing to continue", vec![frame(0x00, b"continues")], 1008),
        ("a large first part", vec![frame(0x02, &[0; 2000])], 1009),
    ] {
        peer.refuses(case, &frames.concat(), code);
    }
    let mut stream = peer.open();
    stream.send(&[frame(0x89, b"before"), frame(0x01, b"frag"), frame(0x89, b"within")].concat());
    assert_eq!(stream.next(), Got::Pong(b"before".into()), "5.6");
    assert_eq!(stream.close(), Some(1008), "5.6");
}

#[test]
fn reserved_bits_and_opcodes_unmasked_and_long_control_frames_are_1008() {
    let peer = Peer::new();
    for bits in 1..=7 {
        for opcode in [0x81, 0x89, 0x88] {
            peer.refuses("3: reserved bits", &frame(opcode | (bits << 4), b"x"), 1008);
        }
    }
    for opcode in (3..=7).chain(11..=15) {
        peer.refuses("4: reserved opcodes", &frame(0x80 | opcode, b""), 1008);
        peer.refuses("4: reserved opcodes", &frame(0x80 | opcode, b"payload"), 1008);
    }
    for opcode in [0x88, 0x89, 0x8A] {
        peer.refuses("2.5 and 7.3.6: 126 bytes", &frame(opcode, &[b'x'; 126]), 1008);
        peer.refuses("2000 bytes", &frame(opcode, &[b'x'; 2000]), 1009);
        peer.refuses("unmasked", &[opcode, 1, b'x'], 1008);
        let long = [&[opcode, 0x80 | 126, 0, 1][..], &MASK, b"x"].concat();
        peer.refuses("a length that is longer than needed", &long, 1008);
    }
}

#[test]
fn a_close_frame_is_echoed_and_ends_the_stream() {
    let peer = Peer::new();
    let closes = |payload: &[u8]| {
        let mut stream = peer.open();
        // 7.1: anything after a close frame is ignored.
        stream.send(&[frame(0x88, payload), frame(0x89, b"late"), frame(0x81, b"late")].concat());
        stream.close()
    };
    assert_eq!(closes(b""), None, "7.3.1");
    let long = [&[0x03, 0xe8][..], &[b'*'; 123]].concat();
    assert_eq!(closes(&long), Some(1000), "7.3.5");
    for code in [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999] {
        let payload = [&u16::to_be_bytes(code)[..], b"bye"].concat();
        assert_eq!(closes(&payload), Some(code), "7.7");
    }
    for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535] {
        assert_eq!(closes(&u16::to_be_bytes(code)), Some(1008), "7.9 and 7.13: {code}");
    }
    assert_eq!(closes(b"\x03"), Some(1008), "7.3.2");
    assert_eq!(closes(b"\x03\xe8\xce\xba\xff"), Some(1008), "7.5.1");
}
