//! ssi resolves the gateway's DID over HTTP and finds the signing keys in the document.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use did_web::DIDWeb;
use idgate_core::DID_DOCUMENT_PATH;
use idgate_core::crypto::{Es256Key, PublicKey};
use idgate_core::shell::discovery::{PublishedKey, did_document_json, did_web};
use serde_json::Value;
use ssi_dids_core::{DIDBuf, DIDResolver};

fn published(did: &str, fragment: &str, scalar: u8) -> PublishedKey {
    let key: PublicKey = *Es256Key::from_scalar(&[scalar; 32]).expect("a scalar").public_key();
    PublishedKey::new(format!("{did}#{fragment}"), key)
}

/// Answers one request for the DID document.
fn serve(listener: TcpListener, document: String) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut request = Vec::new();
        let mut chunk = [0; 1024];
        while !request.windows(4).any(|end| end == b"\r\n\r\n") {
            let read = stream.read(&mut chunk).expect("a request");
            assert!(read > 0, "the request ends early");
            request.extend(&chunk[..read]);
        }
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{document}",
            document.len()
        )
        .expect("an answer");
        String::from_utf8(request).expect("UTF-8")
    })
}

#[test]
fn the_document_is_found_and_has_the_signing_keys() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let base_url = format!("http://{}", listener.local_addr().expect("an address"));
    let did = did_web(&base_url).expect("a DID");
    let keys = [published(&did, "new", 1), published(&did, "old", 2)];
    let server = serve(listener, did_document_json(&did, &keys));

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let resolving = DIDBuf::from_string(did.clone()).expect("a DID");
    let output = runtime.expect("a runtime").block_on(DIDWeb.resolve(&resolving));
    let document = output.expect("a document").document.into_document();
    let request = server.join().expect("one request");
    assert!(request.starts_with(&format!("GET {DID_DOCUMENT_PATH} ")), "{request}");

    assert_eq!(document.id, resolving);
    assert_eq!(document.verification_method.len(), 2);
    for (method, key) in document.verification_method.iter().zip(&keys) {
        assert_eq!(method.id.as_str(), key.id);
        assert_eq!(method.type_, "JsonWebKey2020");
        assert_eq!(method.controller.as_str(), did);
        let ours: Value = serde_json::from_str(&key.key.to_jwk_json(None)).expect("a JWK");
        assert_eq!(method.properties.get("publicKeyJwk"), Some(&ours));
    }
    let relations = &document.verification_relationships;
    for references in [&relations.authentication, &relations.assertion_method] {
        let ids: Vec<String> =
            references.iter().map(|one| one.id().resolve(&resolving).to_string()).collect();
        assert_eq!(ids, keys.each_ref().map(|key| key.id.clone()));
    }
}
