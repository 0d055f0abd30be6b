//! OpenID4VP 1.0 and HAIP 1.0 on the library, in virtual time, against the wallet that checks requests
//! as a conformance suite does: every client identifier, every way back, forgeries one at a time, and
//! sessions with several offers.

mod browsers;
mod counting;
mod distinct;
mod forgeries;
mod harness;
mod iso_mdoc;
mod iso_mdoc_several;
mod requests;
mod sessions;
