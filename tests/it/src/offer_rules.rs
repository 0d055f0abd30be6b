//! OpenID4VP 1.0 and HAIP 1.0 with the library, in virtual time, against a wallet that checks
//! requests like a conformance suite: every client identifier, every response mode, single
//! forgeries, and sessions with several offers.

mod browsers;
mod counting;
mod distinct;
mod forgeries;
mod harness;
mod iso_mdoc;
mod iso_mdoc_several;
mod requests;
mod sessions;
