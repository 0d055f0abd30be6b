//! A QR code as the path of an SVG.

use std::fmt::Write as _;

use qrcode::{Color, EcLevel, QrCode};

/// White modules around a code (ISO/IEC 18004 5.3.8).
const QUIET: usize = 4;

/// Light modules between the end of a row and the start of the next: one on each side, and the step
/// down.
const TURN: usize = 3;

/// A QR code, drawn as one dashed line that runs through the rows in alternating directions. A run
/// of modules then takes two characters, which saves a third of the page where a request is long.
pub struct Qr {
    width: usize,
    dashes: String,
}

impl Qr {
    /// `None` if the text is too long for a code.
    pub fn of(text: &str) -> Option<Self> {
        let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
        Some(Self { width: code.width(), dashes: dashes(&code.to_colors(), code.width()) })
    }

    /// Modules per side, including the white border.
    pub fn side(&self) -> usize {
        self.width.saturating_add(2 * QUIET)
    }

    /// The attribute `viewBox`: one unit is a module.
    pub fn view_box(&self) -> String {
        format!("0 0 {0} {0}", self.side())
    }

    /// The attribute `d`: the line, starting at the first module.
    pub fn path(&self) -> String {
        let (left, right) = (QUIET - 1, self.width.saturating_add(QUIET + 1));
        let mut path = format!("M{QUIET} {QUIET}.5H{right}");
        for row in 1..self.width {
            // Writing to a string cannot fail.
            let _ = write!(path, "v1H{}", if row % 2 == 1 { left } else { right });
        }
        path
    }

    /// The attribute `stroke-dasharray`: alternating dark and light lengths.
    pub fn dashes(&self) -> &str {
        &self.dashes
    }
}

/// The runs of all rows, every second one reversed. The first module of a code is dark.
fn dashes(modules: &[Color], width: usize) -> String {
    let mut line = Vec::with_capacity(modules.len().saturating_mul(2));
    for (at, row) in modules.chunks(width.max(1)).enumerate() {
        if at % 2 == 0 {
            line.extend_from_slice(row);
        } else {
            line.extend(row.iter().rev());
        }
        line.extend([Color::Light; TURN]);
    }
    let mut dashes = String::with_capacity(line.len());
    for run in line.chunk_by(|a, b| a == b) {
        let separator = if dashes.is_empty() { "" } else { " " };
        let _ = write!(dashes, "{separator}{}", run.len());
    }
    dashes
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_drawn_with_its_quiet_zone() {
        let qr = Qr::of("openid4vp://?a=b").unwrap();
        assert_eq!(qr.view_box(), "0 0 29 29");
        // To one module past the code, and from there to one past its other edge.
        assert!(qr.path().starts_with("M4 4.5H26v1H3v1H26v1H3v1"), "{}", qr.path());
        assert_eq!(qr.path().matches('H').count(), 21);
        // The first row begins and ends with a finder pattern; the second is drawn from its end.
        assert!(qr.dashes().starts_with("7 "), "{}", qr.dashes());
        assert!(qr.dashes().contains(" 7 3 1 5 1 "), "{}", qr.dashes());
        assert!(Qr::of(&"x".repeat(3000)).is_none());
    }

    #[test]
    fn every_dark_module_is_a_dash_of_the_line() {
        for text in ["openid4vp://?a=b", &"openid4vp://?x=%7B%22".repeat(60)] {
            let qr = Qr::of(text).unwrap();
            let code = QrCode::with_error_correction_level(text, EcLevel::L).unwrap();
            let (width, modules) = (code.width(), code.to_colors());
            let runs: Vec<usize> = qr.dashes().split(' ').map(|run| run.parse().unwrap()).collect();
            assert_eq!(runs.len() % 2, 0, "an odd number of them is gone through twice");
            let dark = runs.iter().enumerate();
            let line: Vec<_> = dark.flat_map(|(n, run)| vec![n % 2 == 0; *run]).collect();
            for (at, row) in line.chunks(width + TURN).enumerate() {
                let (row, turn) = row.split_at(width);
                assert_eq!(turn, [false; TURN]);
                let mut row = row.to_vec();
                if at % 2 == 1 {
                    row.reverse();
                }
                let expected = &modules[at * width..][..width];
                assert!(row.iter().zip(expected).all(|(is, it)| *is == (*it == Color::Dark)));
            }
            assert_eq!(line.len(), (width + TURN) * width);
        }
    }
}
