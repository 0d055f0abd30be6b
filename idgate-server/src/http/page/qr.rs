//! A QR code as the path of an SVG.

use std::fmt::Write as _;

use qrcode::{Color, EcLevel, QrCode};

/// Modules of white around a code (ISO/IEC 18004 5.3.8).
const QUIET: usize = 4;

/// A QR code, drawn.
pub(crate) struct Qr {
    side: usize,
    path: String,
}

impl Qr {
    /// `None`: the text is too long for one.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
        let (width, modules) = (code.width(), code.to_colors());
        let mut path = String::with_capacity(modules.len().saturating_mul(2));
        for (y, row) in modules.chunks(width.max(1)).enumerate() {
            draw_row(&mut path, y.saturating_add(QUIET), row);
        }
        Some(Self { side: width.saturating_add(2 * QUIET), path })
    }

    /// The attribute `viewBox`: one unit is a module.
    pub(crate) fn view_box(&self) -> String {
        format!("0 0 {0} {0}", self.side)
    }

    /// The attribute `d`.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }
}

/// A line through each run of dark modules, as wide as they are high.
fn draw_row(path: &mut String, y: usize, row: &[Color]) {
    // Writing into a text has no way to fail.
    let _ = write!(path, "M{QUIET} {y}.5");
    let (mut gap, mut is_first) = (0, true);
    for run in row.chunk_by(|a, b| a == b) {
        if run.first() == Some(&Color::Dark) {
            if gap > 0 || !is_first {
                let _ = write!(path, "m{gap} 0");
            }
            let _ = write!(path, "h{}", run.len());
        } else {
            gap = run.len();
        }
        is_first = false;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_drawn_with_its_quiet_zone() {
        let qr = Qr::of("openid4vp://?a=b").unwrap();
        assert_eq!(qr.view_box(), "0 0 29 29");
        // The first rows begin with a finder pattern.
        let rows: Vec<_> = qr.path().split('M').skip(1).collect();
        assert_eq!(rows.len(), 21);
        assert!(rows[0].starts_with("4 4.5h7m"), "{}", rows[0]);
        assert!(rows[1].starts_with("4 5.5h1m5 0h1m"), "{}", rows[1]);
        assert!(Qr::of(&"x".repeat(3000)).is_none());
    }
}
