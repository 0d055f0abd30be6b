//! Each program that runs to its end verifies its presentation.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a test may stop at the first surprise

use std::process::Command;

#[track_caller]
fn output_of(program: &str) -> String {
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn embed_sd_jwt_reads_the_claims() {
    let output = output_of(env!("CARGO_BIN_EXE_embed_sd_jwt"));
    assert_eq!(output, "to the wallet: 200\nverified: Erika, adult: true\n");
}

#[test]
fn embed_mdoc_reads_the_claims() {
    let output = output_of(env!("CARGO_BIN_EXE_embed_mdoc"));
    assert!(output.contains(r#"verified: {"mdl":{"family_name":"#), "{output}");
    assert!(output.contains(r#""age_over_18":true"#), "{output}");
}

#[test]
fn jar_flow_shows_a_link_and_reads_the_claims() {
    let output = output_of(env!("CARGO_BIN_EXE_jar_flow"));
    assert!(
        output.starts_with(
            "the link: openid4vp://?client_id=decentralized_identifier%3Adid%3Aweb%3A"
        ),
        "{output}"
    );
    assert!(output.contains(r#"verified: {"pid":{"given_name":"Erika""#), "{output}");
}
