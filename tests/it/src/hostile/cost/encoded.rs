//! The worst JSON and CBOR, for every place that reads either.

pub(super) use idgate_testkit::costs::worst::{CBOR, Filling, JSON};

use super::Generator;

/// The worst contents, each inside the envelope that `wrap` builds.
pub(super) fn wrapped(
    fillings: &[Filling],
    wrap: impl Fn(usize, fn(usize) -> Vec<u8>) -> Vec<u8> + Clone + 'static,
) -> Vec<(&'static str, Generator)> {
    let generator = |(title, fill): &Filling| -> (&'static str, Generator) {
        let (wrap, fill) = (wrap.clone(), *fill);
        (title, Box::new(move |size| wrap(size, fill)))
    };
    fillings.iter().map(generator).collect()
}
