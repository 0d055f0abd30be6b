//! The test vectors for receivers match what the core signs and accepts. `IDGATE_WRITE_VECTORS=1`
//! writes the file again.

use idgate_core::UnixMillis;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::limits::WEBHOOK_TOLERANCE_MS;
use idgate_core::shell::webhook::{Attempt, Notification, Received, SigningSecret};
use serde_json::{Map, Value, json};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/webhooks/vectors.json");
const AT: u64 = 1_790_000_000_123;
const ID: &str = "whf_0123456789abcdefABCDEF";
/// 32 bytes in base64, as the gateway generates them.
const SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

struct Case {
    title: &'static str,
    secret: String,
    body: String,
    headers: Map<String, Value>,
    now_ms: u64,
}

impl Case {
    /// A notification as a gateway with `secret` and `previous` sent it.
    fn sent(title: &'static str, secret: &str, previous: Option<&str>, body: String) -> Self {
        let previous = previous.map(|text| SigningSecret::new(text).unwrap());
        let attempt = Attempt { id: ID, at: UnixMillis(AT), number: 1, body: body.as_bytes() };
        let signing = SigningSecret::new(secret).unwrap();
        let headers = attempt.headers(&PROVIDER, &signing, previous.as_ref());
        let headers = headers.map(|(name, value)| (name.to_owned(), Value::from(value)));
        Self {
            title,
            secret: secret.into(),
            body,
            headers: headers.into_iter().collect(),
            now_ms: AT + 250,
        }
    }

    fn good(title: &'static str) -> Self {
        Self::sent(title, SECRET, None, body("https://issuer.example"))
    }

    fn header(mut self, name: &str, change: impl FnOnce(&str) -> String) -> Self {
        let changed = change(self.headers[name].as_str().unwrap());
        self.headers.insert(name.into(), changed.into());
        self
    }

    fn both(self, change: impl Fn(&str) -> String) -> Self {
        self.header("X-Signature", &change).header("webhook-signature", &change)
    }

    fn now(mut self, now_ms: u64) -> Self {
        self.now_ms = now_ms;
        self
    }

    fn to_json(&self) -> Value {
        let secret = SigningSecret::new(&*self.secret).unwrap();
        let now = UnixMillis(self.now_ms);
        let received =
            Received { body: self.body.as_bytes(), now, tolerance_ms: WEBHOOK_TOLERANCE_MS };
        let header = |name: &str| self.headers[name].as_str().unwrap();
        let own = received.verify(&PROVIDER, &secret, header("X-Timestamp"), header("X-Signature"));
        let standard = received.verify_standard(
            &PROVIDER,
            &secret,
            header("webhook-id"),
            header("webhook-timestamp"),
            header("webhook-signature"),
        );
        json!({
            "title": self.title, "secret": self.secret, "body": self.body,
            "headers": self.headers, "now_ms": self.now_ms,
            "own": own.is_ok(), "standard": standard.is_ok(),
        })
    }
}

fn body(issuer_id: &str) -> String {
    Notification {
        session_id: "ses_0123456789abcdefABCDEF",
        client_id: "cli_0123456789abcdefABCDEF",
        status: "VERIFIED",
        latency_ms: 67_310,
        issuer_id,
    }
    .to_json()
}

fn cases() -> Vec<Case> {
    let plain = body("https://issuer.example");
    let sent = |title, secret| Case::sent(title, secret, None, plain.clone());
    let rotated = |title| Case::sent(title, SECRET, Some("the secret of yesterday"), plain.clone());
    let last = |text: &str| text[..text.len() - 1].to_owned();
    let mut cases = vec![
        Case::good("a generated secret"),
        sent("a secret of one's own", "sixteen chars ok"),
        sent("a prefix without base64", "whsec_not base64 at all"),
        sent("base64 without its padding", "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"),
        sent("base64 with stray bits", "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9="),
        sent("base64 with padding in the middle", "whsec_AAEC=wQFBgcICQoLDA0O"),
        sent("base64url", "whsec_-_-_-_-_-_-_-_-_"),
        sent("a secret beyond ASCII", "schlüssel für webhooks ✓"),
        Case::sent("a body beyond ASCII", SECRET, None, body("https://bücher.example/✓")),
        Case::sent("an empty body", SECRET, None, String::new()),
        rotated("two secrets, and the receiver has the new one"),
        rotated("two secrets, and the receiver has neither"),
        rotated("two secrets, and the receiver has the old one"),
        Case::good("five minutes late").now(AT + WEBHOOK_TOLERANCE_MS),
        Case::good("more than five minutes late").now(AT + WEBHOOK_TOLERANCE_MS + 1),
        Case::good("five minutes early").now(AT - WEBHOOK_TOLERANCE_MS - AT % 1000),
        Case::good("more than five minutes early").now(AT - WEBHOOK_TOLERANCE_MS - AT % 1000 - 1),
        Case::good("at another time of day").now(0),
        Case::good("another body"),
        Case::good("another secret"),
        Case::good("no signature").both(|_| String::new()),
        Case::good("a signature without its end").both(last),
        Case::good("a signature with more at its end").both(|text| format!("{text}0")),
        Case::good("a signature in upper case").both(str::to_uppercase),
        Case::good("only the beginning of an entry").header("webhook-signature", |_| "v1,".into()),
        Case::good("an entry without its version")
            .header("webhook-signature", |text| text[3..].into()),
        Case::good("an entry of another version")
            .header("webhook-signature", |text| format!("v2{}", &text[2..])),
        Case::good("a good entry among others")
            .header("webhook-signature", |text| format!("v1a,AAAA v1,AAAA {text} v2,AAAA")),
        Case::good("another id").header("webhook-id", |_| "whf_x".into()),
        Case::good("timestamps that are not numbers")
            .header("X-Timestamp", |text| format!("+{text}"))
            .header("webhook-timestamp", |text| format!("{text}.0")),
        Case::good("empty timestamps")
            .header("X-Timestamp", |_| String::new())
            .header("webhook-timestamp", |_| String::new()),
    ];
    for case in &mut cases {
        match case.title {
            "two secrets, and the receiver has the old one" => {
                case.secret = "the secret of yesterday".into();
            }
            "two secrets, and the receiver has neither" | "another secret" => {
                case.secret = "whsec_HxAREhMUFRYXGBkaGxwdHgABAgMEBQYHCAkKCwwNDg8=".into();
            }
            "another body" => case.body = case.body.replace("VERIFIED", "FAILED"),
            _ => {}
        }
    }
    cases
}

#[test]
fn the_webhook_test_vectors_match_the_core() {
    let vectors: Vec<Value> = cases().iter().map(Case::to_json).collect();
    let good = |name: &str| vectors.iter().filter(|it| it[name] == true).count();
    assert!(good("own") > 8 && good("standard") > 8);
    let text = serde_json::to_string_pretty(&json!({ "vectors": vectors })).unwrap() + "\n";
    if std::env::var_os("IDGATE_WRITE_VECTORS").is_some() {
        std::fs::write(FILE, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(FILE).unwrap_or_default(), text);
}
