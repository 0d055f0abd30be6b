//! certval 0.2.0-rc.1 as a second opinion on certificate paths and CRLs.

use certval::{
    CertFile, CertSource, CertVector as _, CertificationPath, CertificationPathResults,
    CertificationPathSettings, MemoryCrlSource, PDVCertificate, PkiEnvironment, TaSource,
    TimeOfInterest, check_revocation_local, enforce_trust_anchor_constraints, parse_cert,
};
use idgate_core::UnixMillis;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::{RootOrigin, TrustAnchor, is_good_by_crls, is_valid_rfc5280_path};
use idgate_testkit::limbo::Case;

/// The limit for cases without one: the length of an x5chain.
const MAX_INTERMEDIATES: usize = 9;

/// A question that both answer: certificates and CRLs in DER, at an instant.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// The certificate whose path is searched.
    pub leaf: Vec<u8>,
    /// The certificates that came with it.
    pub intermediates: Vec<Vec<u8>>,
    /// The trusted roots.
    pub roots: Vec<Vec<u8>>,
    /// If there are any, one of them must say that the leaf is good.
    pub crls: Vec<Vec<u8>>,
    /// Milliseconds since the epoch.
    pub now_ms: u64,
    /// How many intermediates a path may have.
    pub max_intermediates: Option<usize>,
}

impl Question {
    /// The question of an x509-limbo case. A case without a time is asked at `now_ms`.
    ///
    /// # Panics
    /// Its time cannot be read.
    pub fn of(case: &Case, now_ms: u64) -> Self {
        let time = case.time.as_deref();
        let at = |time| UnixMillis::parse_rfc3339(time).expect("an instant").0;
        Self {
            leaf: case.leaf.clone(),
            intermediates: case.intermediates.clone(),
            roots: case.roots.clone(),
            crls: case.crls.clone(),
            now_ms: time.map_or(now_ms, at),
            max_intermediates: case.max_chain_depth,
        }
    }

    /// idgate's verdict, without the profile of ISO/IEC 18013-5.
    pub fn idgate_accepts(&self) -> bool {
        let root = |der: &Vec<u8>| TrustAnchor::from_der(&PROVIDER, der, RootOrigin::RootFile).ok();
        let roots: Vec<TrustAnchor> = self.roots.iter().filter_map(root).collect();
        let (intermediates, crls) = (slices(&self.intermediates), slices(&self.crls));
        let (limit, now) =
            (self.max_intermediates.unwrap_or(MAX_INTERMEDIATES), UnixMillis(self.now_ms));
        is_valid_rfc5280_path(&PROVIDER, &self.leaf, &intermediates, &roots, limit, now)
            && (crls.is_empty() || is_good_by_crls(&PROVIDER, &self.leaf, &roots, &crls, now))
    }

    /// The peer's verdict: one of the paths that it builds is valid.
    pub fn certval_accepts(&self) -> bool {
        let Ok(target) = parse_cert(&self.leaf, "leaf") else { return false };
        let Some((environment, settings)) = self.environment() else { return false };
        let mut paths = Vec::new();
        let at = settings.get_time_of_interest();
        if environment.get_paths_for_target(&target, &mut paths, 0, at).is_err() {
            return false;
        }
        paths.iter().any(|path| self.is_valid(&environment, &settings, path))
    }

    fn is_valid(
        &self,
        environment: &PkiEnvironment,
        settings: &CertificationPathSettings,
        path: &CertificationPath,
    ) -> bool {
        let Ok(settings) = enforce_trust_anchor_constraints(settings, &path.trust_anchor) else {
            return false;
        };
        // RFC 5280 4.2.1.9: self-issued certificates do not count.
        let counts = |ca: &&PDVCertificate| {
            let tbs = ca.decoded().tbs_certificate();
            tbs.subject() != tbs.issuer()
        };
        let mut results = CertificationPathResults::new();
        path.intermediates.iter().filter(counts).count()
            <= self.max_intermediates.unwrap_or(MAX_INTERMEDIATES)
            && environment.validate_path(environment, &settings, path, &mut results).is_ok()
            && (self.crls.is_empty()
                || check_revocation_local(environment, &settings, path, &mut results).is_ok())
    }

    fn environment(&self) -> Option<(PkiEnvironment, CertificationPathSettings)> {
        let mut settings = CertificationPathSettings::new();
        settings.set_time_of_interest(TimeOfInterest::from_unix_secs(self.now_ms / 1000).ok()?);
        settings.set_enforce_trust_anchor_constraints(true);
        settings.set_check_ocsp_from_aia(false);
        settings.set_check_crldp_http(false);
        settings.set_retrieve_from_aia_sia_http(false);
        let mut environment = PkiEnvironment::new();
        environment.populate_5280_pki_environment();
        let mut anchors = TaSource::new();
        self.roots.iter().for_each(|der| anchors.push(file(der)));
        anchors.initialize().ok()?;
        environment.add_trust_anchor_source(Box::new(anchors));
        let mut certificates = CertSource::new();
        self.intermediates.iter().for_each(|der| certificates.push(file(der)));
        certificates.initialize(&settings).ok()?;
        certificates.find_all_partial_paths(&environment, &settings);
        environment.add_certificate_source(Box::new(certificates));
        let crls = MemoryCrlSource::new();
        for der in &self.crls {
            crls.add(der);
        }
        environment.add_crl_source(Box::new(crls));
        Some((environment, settings))
    }
}

fn slices(all: &[Vec<u8>]) -> Vec<&[u8]> {
    all.iter().map(Vec::as_slice).collect()
}

fn file(der: &[u8]) -> CertFile {
    CertFile { filename: String::new(), bytes: der.to_vec() }
}
