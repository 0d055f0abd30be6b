//! Pages for people: found by digest, bound to one browser, and removed with their session.

use zeroize::Zeroizing;

use super::*;

const PAGE: [u8; 32] = [3; 32];
const SECRET: [u8; 32] = [5; 32];

impl<B: Backend> Fixture<B> {
    /// A stored session with a page.
    async fn paged(&self) -> Session {
        let transition = self.new_session(&self.live, NOW);
        let session = transition.session.clone();
        let page = NewPage { digest: PAGE, secret: Zeroizing::new(SECRET) };
        let beside = Beside { page: Some(page), parent: None };
        let made = self.store().create_session_with(&self.live, transition, beside).await;
        assert_eq!(made.unwrap(), Made::Yes);
        session
    }
}

pub(super) async fn a_page_is_found_by_digest_or_session_and_removed_with_it<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let session = fixture.paged().await;
    let other = fixture.session(&fixture.live).await;
    let store = fixture.store();
    let page = store.page(&PAGE).await.unwrap().unwrap();
    assert_eq!((&page.session_id, page.digest), (session.id(), PAGE));
    assert_eq!(page.secret.as_slice(), SECRET);
    assert!(page.browser.is_none() && !page.is_opened && page.notes.is_empty());
    assert_eq!(store.page_of(session.id()).await.unwrap().unwrap().digest, PAGE);
    assert!(store.page_of(other.id()).await.unwrap().is_none());
    assert!(store.page(&[4; 32]).await.unwrap().is_none());
    assert!(!fixture.backend.holds(&SECRET), "the page's secret is sealed");
    store.open_page(&PAGE).await.unwrap();
    for note in ["1", "2", "1"] {
        store.note_on_page(&PAGE, note).await.unwrap();
    }
    let page = store.page(&PAGE).await.unwrap().unwrap();
    assert!(page.is_opened);
    assert_eq!(page.notes, ["1", "2"]);
    assert!(store.delete_session(&fixture.live, session.id(), NOW).await.unwrap());
    assert!(store.page(&PAGE).await.unwrap().is_none());
    assert!(!store.take_page(&PAGE, [1; 32]).await.unwrap());
}

pub(super) async fn a_page_stores_notes_only_up_to_its_limit<B: Backend>() {
    let fixture = Fixture::<B>::new();
    fixture.paged().await;
    let store = fixture.store();
    for n in 0..40 {
        store.note_on_page(&PAGE, &format!("{n:0>100}")).await.unwrap();
    }
    let notes = store.page(&PAGE).await.unwrap().unwrap().notes;
    assert!((10..=21).contains(&notes.len()), "{}", notes.len());
}

pub(super) async fn of_many_browsers_exactly_one_takes_a_page_and_keeps_it<B: Backend>() {
    let fixture = Fixture::<B>::new();
    fixture.paged().await;
    let store = fixture.store();
    let taken = (0..16).map(|browser| store.take_page(&PAGE, [browser; 32]));
    let mut browsers = Vec::new();
    for (browser, taken) in taken.collect::<Vec<_>>().into_iter().enumerate() {
        if taken.await.unwrap() {
            browsers.push(u8::try_from(browser).unwrap());
        }
    }
    let [first] = browsers[..] else { panic!("{browsers:?}") };
    assert_eq!(store.page(&PAGE).await.unwrap().unwrap().browser, Some([first; 32]));
    assert!(store.take_page(&PAGE, [first; 32]).await.unwrap());
    assert!(!store.take_page(&PAGE, [99; 32]).await.unwrap());
}

pub(super) async fn of_many_phones_exactly_one_gets_a_page_and_returns_it_once<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let session = fixture.paged().await;
    let store = fixture.store();
    assert!(store.take_page(&PAGE, [99; 32]).await.unwrap());
    let handed = (0..16).map(|phone| store.hand_over_page(&PAGE, [phone; 32], 0));
    let mut phones = Vec::new();
    for (phone, handed) in handed.collect::<Vec<_>>().into_iter().enumerate() {
        if handed.await.unwrap() {
            phones.push(u8::try_from(phone).unwrap());
        }
    }
    let [first] = phones[..] else { panic!("{phones:?}") };
    let page = store.page_of(session.id()).await.unwrap().unwrap();
    assert_eq!((page.browser, page.phone, page.moves), (Some([99; 32]), Some([first; 32]), 1));
    // No number of moves gives the page to another phone.
    for moves in [0, 1] {
        assert!(!store.hand_over_page(&PAGE, [50; 32], moves).await.unwrap());
    }
    assert!(!store.bring_page_back(&PAGE, 0, "fetched.1".into()).await.unwrap());
    store.note_on_page(&PAGE, "fetched.11").await.unwrap();
    assert!(store.bring_page_back(&PAGE, 1, "fetched.1".into()).await.unwrap());
    assert!(!store.bring_page_back(&PAGE, 1, "fetched.1".into()).await.unwrap());
    let page = store.page(&PAGE).await.unwrap().unwrap();
    assert_eq!((page.browser, page.phone, page.moves), (Some([99; 32]), None, 2));
    assert!(!store.bring_page_back(&PAGE, 2, "fetched.2".into()).await.unwrap());
    assert!(store.hand_over_page(&PAGE, [50; 32], 2).await.unwrap());
    store.note_on_page(&PAGE, "fetched.3").await.unwrap();
    assert!(!store.bring_page_back(&PAGE, 3, "fetched.3".into()).await.unwrap());
}

pub(super) async fn a_page_moves_only_from_a_browser_that_has_it_while_its_session_is_open<
    B: Backend,
>() {
    let fixture = Fixture::<B>::new();
    let session = fixture.paged().await;
    let store = fixture.store();
    assert!(!store.hand_over_page(&PAGE, [1; 32], 0).await.unwrap(), "no browser has it");
    assert!(store.take_page(&PAGE, [99; 32]).await.unwrap());
    assert!(!store.hand_over_page(&[4; 32], [1; 32], 0).await.unwrap(), "there is none");
    assert!(store.hand_over_page(&PAGE, [1; 32], 0).await.unwrap());
    let expired = session.expired(session.expires_at()).unwrap();
    assert_eq!(store.commit(expired, None).await.unwrap(), Committed::Yes);
    assert!(!store.bring_page_back(&PAGE, 1, "fetched.1".into()).await.unwrap());
    let page = store.page(&PAGE).await.unwrap().unwrap();
    assert_eq!((page.phone, page.moves), (Some([1; 32]), 1));
    // The phone is removed with its session.
    assert!(store.delete_session(&fixture.live, session.id(), NOW).await.unwrap());
    assert!(store.page(&PAGE).await.unwrap().is_none());
}

pub(super) async fn a_session_under_an_idempotency_key_stores_its_page<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let transition = fixture.new_session(&fixture.live, NOW);
    let id = transition.session.id().clone();
    let page = Some(NewPage { digest: PAGE, secret: Zeroizing::new(SECRET) });
    let beside = Beside { page, parent: None };
    let once = Once { key: [1; 32], body: [7; 32], answer: Zeroizing::new(b"{}".to_vec()), beside };
    let made = fixture.store().create_session_once(&fixture.live, transition, once).await.unwrap();
    assert!(matches!(made, MadeOnce::Yes));
    assert_eq!(fixture.store().page(&PAGE).await.unwrap().unwrap().session_id, id);
}

pub(super) async fn a_clients_face_has_its_name_and_logo<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let client = &fixture.live.client_id;
    let face = fixture.store().face(client).await.unwrap().unwrap();
    assert!(!face.name.is_empty() && !face.has_logo);
    assert!(fixture.store().logo(client).await.unwrap().is_none());
    let logo = Logo { media_type: "image/png", bytes: vec![0x89, b'P'] };
    let change = ClientChange {
        name: Some("The cellar".into()),
        logo: Some(logo),
        ..ClientChange::default()
    };
    assert!(fixture.operator().set_client(client.as_str(), &change).unwrap());
    let face = fixture.store().face(client).await.unwrap().unwrap();
    let expected = Face {
        name: "The cellar".into(),
        has_logo: true,
        accent: None,
        privacy_url: None,
        help_url: None,
    };
    assert_eq!(face, expected);
    let logo = fixture.store().logo(client).await.unwrap().unwrap();
    assert_eq!((&*logo.media_type, &*logo.bytes), ("image/png", &[0x89, b'P'][..]));
    let unknown = idgate_core::TenantId::new("cli_unknown");
    assert!(fixture.store().face(&unknown).await.unwrap().is_none());
}
