//! E0271: a profile that does not exist does not compile.
pub fn request(request: idgate_core::Request) -> idgate_core::Request {
    request.profiles(["1.0"])
}
