//! `POST /v1/sessions` under an `Idempotency-Key` (decisions 4): whoever does not know whether a
//! request arrived sends it again, and has one session.

use idgate_core::ErrorCode;
use idgate_core::error::RequestError;
use zeroize::Zeroizing;

use super::{App, AppError, CreatedSession};
use crate::digest::sha256;
use idgate_base::spans;
use idgate_store::{Answered, Beside, Caller, MadeOnce, Once};

impl App {
    /// Makes a session from a creation body and gives the answer that `render` makes of it; under a
    /// key that was used before, the answer of then.
    ///
    /// # Errors
    /// As [`App::create_session`], and when the key was used for another body.
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
            // Another request under the key came first.
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
