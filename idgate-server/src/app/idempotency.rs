//! `POST /v1/sessions` with an `Idempotency-Key` (decisions 4): a tenant that is not sure whether a
//! request arrived sends it again, and gets the same session.

use idgate_core::ErrorCode;
use idgate_core::error::RequestError;
use zeroize::Zeroizing;

use super::{App, AppError, CreatedSession};
use crate::digest::sha256;
use idgate_base::spans;
use idgate_store::{Answered, Beside, Caller, MadeOnce, Once};

impl App {
    /// Creates a session from a creation body, and returns the answer that `render` makes of it. If
    /// the key was used before, returns the stored answer.
    ///
    /// # Errors
    /// As [`App::create_session`], or the key was used with another body.
    pub async fn create_session_once(
        &self,
        caller: &Caller,
        key: &str,
        body: &[u8],
        render: impl FnOnce(&CreatedSession) -> Zeroizing<Vec<u8>>,
    ) -> Result<Zeroizing<Vec<u8>>, AppError> {
        let (key, body_digest) = (sha256(key.as_bytes()), sha256(body));
        if let Some(earlier) = self.store.answered(caller, &key, self.now()).await? {
            return replay(earlier, &body_digest);
        }
        let (transition, created, page) = self.new_session(caller, body).await?;
        let answer = render(&created);
        let beside = Beside { page, parent: spans::outgoing() };
        let once = Once { key, body: body_digest, answer: answer.clone(), beside };
        let observed = self.for_observer(&transition);
        match self.store.create_session_once(caller, transition, once).await? {
            MadeOnce::Yes => {
                observed.created(body, &created);
                Ok(answer)
            }
            MadeOnce::NoRoom => Err(AppError::TooManySessions),
            // Another request with this key was committed first.
            MadeOnce::Earlier(earlier) => replay(earlier, &body_digest),
        }
    }
}

fn replay(earlier: Answered, body: &[u8; 32]) -> Result<Zeroizing<Vec<u8>>, AppError> {
    if earlier.body == *body {
        return Ok(earlier.answer);
    }
    let rule = "was already used with another body; send a new key with a new request";
    Err(RequestError::new(ErrorCode::InvalidRequest, "Idempotency-Key", rule).into())
}
