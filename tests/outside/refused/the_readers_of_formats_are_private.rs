//! E0603: strict readers of JSON and base64url are not for applications.
pub use idgate_core::codec::json;
