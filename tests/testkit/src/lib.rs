//! Sample issuer and wallet.
