//! A good encrypted answer as parameters and hooks, so that a row can change any single step.

use idgate_testkit::jwe::{Enc, Encryption};
use idgate_testkit::request_object::JarRequest;
use idgate_testkit::wallet::{Body, JarAnswer};
use serde_json::{Map, Value};

use crate::tamper::{Base, Scenario};

/// Changes to the output of one step, before the next step uses it.
#[derive(Clone, Copy, Debug)]
pub struct JarHooks {
    /// The plaintext's members.
    pub payload: fn(&mut Map<String, Value>),
    /// The plaintext.
    pub plaintext: fn(&mut Vec<u8>),
    /// The encryption before it is done.
    pub encryption: fn(&mut Encryption),
    /// The parts of the JWE.
    pub parts: fn(&mut [String; 5]),
    /// The JWE.
    pub jwe: fn(&mut String),
    /// The parameters of the answer. The second argument has the members of the plaintext.
    pub parameters: fn(&mut Map<String, Value>, &Map<String, Value>),
    /// The encoded answer.
    pub body: fn(&mut Body),
}

/// Everything from the operator's trust to the wallet's encrypted answer.
#[derive(Clone, Debug)]
pub struct JarScenario {
    /// Trust, request and presentation, with their own changes.
    pub made: Scenario,
    /// How the answer is encrypted.
    pub enc: Enc,
    /// The changes to the envelope.
    pub hooks: JarHooks,
}

impl Default for JarHooks {
    fn default() -> Self {
        Self {
            payload: |_| {},
            plaintext: |_| {},
            encryption: |_| {},
            parts: |_| {},
            jwe: |_| {},
            parameters: |_, _| {},
            body: |_| {},
        }
    }
}

impl JarScenario {
    /// An answer made at `now_ms` that is verified if left unchanged.
    pub fn good(base: Base, enc: Enc, now_ms: u64) -> Self {
        Self { made: Scenario::good(base, now_ms), enc, hooks: JarHooks::default() }
    }

    /// The wallet's answer to `jar`.
    ///
    /// # Panics
    /// The request's key is not on P-256.
    pub fn answer(&self, jar: &JarRequest) -> Body {
        let mut payload = self.made.parameters(&jar.request);
        (self.hooks.payload)(&mut payload);
        let mut plaintext = Value::from(payload.clone()).to_string().into_bytes();
        (self.hooks.plaintext)(&mut plaintext);
        let (apu, apv) = (b"the wallet's nonce", jar.request.nonce.as_bytes());
        let encryption = JarAnswer::encryption(jar, self.enc, "tamper").with_party_info(apu, apv);
        self.seal(&payload, &plaintext, encryption)
    }

    /// The encrypted answer of this plaintext.
    ///
    /// # Panics
    /// The request's key is not on P-256.
    #[allow(clippy::expect_used)] // the table runs in tests only
    pub fn seal(
        &self,
        payload: &Map<String, Value>,
        plaintext: &[u8],
        mut encryption: Encryption,
    ) -> Body {
        (self.hooks.encryption)(&mut encryption);
        let mut parts = encryption.encrypt(plaintext).expect("the key is on P-256");
        (self.hooks.parts)(&mut parts);
        let mut jwe = parts.join(".");
        (self.hooks.jwe)(&mut jwe);
        let mut parameters = Map::from_iter([(String::from("response"), jwe.into())]);
        (self.hooks.parameters)(&mut parameters, payload);
        let mut body = self.encode(&parameters);
        (self.hooks.body)(&mut body);
        body
    }

    /// Encodes the parameters as a form, or as JSON.
    pub fn encode(&self, parameters: &Map<String, Value>) -> Body {
        if self.made.as_json { Body::json(parameters) } else { Body::form(parameters) }
    }
}
