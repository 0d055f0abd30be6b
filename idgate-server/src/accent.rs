//! The accent colour of a client's pages, adjusted so that it is readable in both colour schemes
//! (WCAG 2.2 1.4.3).

use std::fmt;

/// The contrast that text needs against its background.
const CONTRAST: f64 = 4.5;
/// The change of lightness in each step.
const STEP: f64 = 0.01;
/// The additional change of a button under the pointer.
const FURTHER: f64 = 0.2;
const WHITE: Colour = Colour([255, 255, 255]);
/// The background of a card in the dark scheme.
const DARK_PAPER: Colour = Colour([0x15, 0x1d, 0x21]);
/// Text on a light button.
const DARK_INK: Colour = Colour([0x05, 0x22, 0x2b]);
/// The share of the colour in its tint.
const LIGHT_TINT: f64 = 0.1;
const DARK_TINT: f64 = 0.35;

/// An sRGB colour with eight bits for each channel.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Colour([u8; 3]);

/// The colours of one scheme.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Scheme {
    /// Links and buttons.
    pub(crate) accent: Colour,
    /// Links and buttons under the pointer.
    pub(crate) strong: Colour,
    /// Text on the accent.
    pub(crate) on_accent: Colour,
    /// The background of an icon.
    pub(crate) tint: Colour,
}

/// An accent in both schemes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Accent {
    /// For the light scheme.
    pub(crate) light: Scheme,
    /// For the dark scheme.
    pub(crate) dark: Scheme,
}

impl Colour {
    /// Reads `#rrggbb`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6)?;
        let channel = |at: usize| {
            let digits = digits.get(at..at.checked_add(2)?)?;
            let are_digits = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            u8::from_str_radix(digits, 16).ok().filter(|_| are_digits)
        };
        Some(Self([channel(0)?, channel(2)?, channel(4)?]))
    }

    /// Relative luminance (WCAG 2.2).
    fn luminance(self) -> f64 {
        let [red, green, blue] = self.linear();
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    fn contrast(self, other: Self) -> f64 {
        let (one, two) = (self.luminance(), other.luminance());
        (one.max(two) + 0.05) / (one.min(two) + 0.05)
    }

    /// The text colour that is most readable on it.
    fn ink(self) -> Self {
        if self.contrast(WHITE) >= self.contrast(DARK_INK) { WHITE } else { DARK_INK }
    }

    fn linear(self) -> [f64; 3] {
        self.0.map(|channel| {
            let value = f64::from(channel) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn of_linear(linear: [f64; 3]) -> Self {
        Self(linear.map(|value| {
            let value = value.clamp(0.0, 1.0);
            let encoded = if value <= 0.003_130_8 {
                value * 12.92
            } else {
                1.055 * value.powf(1.0 / 2.4) - 0.055
            };
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // 0 to 255
            let channel = (encoded * 255.0).round() as u8;
            channel
        }))
    }

    /// This colour over `ground`, with the opacity `part`.
    fn over(self, ground: Self, part: f64) -> Self {
        let ([r, g, b], [x, y, z]) = (self.0, ground.0);
        Self([(r, x), (g, y), (b, z)].map(|(own, under)| {
            let mixed = f64::from(own) * part + f64::from(under) * (1.0 - part);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // 0 to 255
            let channel = mixed.round().clamp(0.0, 255.0) as u8;
            channel
        }))
    }
}

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [red, green, blue] = self.0;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

/// An OKLab colour: its lightness can change while its hue stays.
#[derive(Clone, Copy, Debug)]
struct Lab {
    lightness: f64,
    a: f64,
    b: f64,
}

impl Lab {
    fn of(colour: Colour) -> Self {
        let [red, green, blue] = colour.linear();
        let l = (0.412_221_470_8 * red + 0.536_332_536_3 * green + 0.051_445_992_9 * blue).cbrt();
        let m = (0.211_903_498_2 * red + 0.680_699_545_1 * green + 0.107_396_956_6 * blue).cbrt();
        let s = (0.088_302_461_9 * red + 0.281_718_837_6 * green + 0.629_978_700_5 * blue).cbrt();
        Self {
            lightness: 0.210_454_255_3 * l + 0.793_617_785_0 * m - 0.004_072_046_8 * s,
            a: 1.977_998_495_1 * l - 2.428_592_205_0 * m + 0.450_593_709_9 * s,
            b: 0.025_904_037_1 * l + 0.782_771_766_2 * m - 0.808_675_766_0 * s,
        }
    }

    fn colour(self) -> Colour {
        let Self { lightness, a, b } = self;
        let l = (lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
        let m = (lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
        let s = (lightness - 0.089_484_177_5 * a - 1.291_485_548_0 * b).powi(3);
        Colour::of_linear([
            4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s,
            -1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s,
            -0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701_0 * s,
        ])
    }

    fn at(self, lightness: f64) -> Self {
        Self { lightness: lightness.clamp(0.0, 1.0), ..self }
    }
}

impl Accent {
    /// Adjusts a colour as little as both schemes require.
    pub(crate) fn of(chosen: Colour) -> Self {
        let lab = Lab::of(chosen);
        let (light_tint, dark_tint) =
            (chosen.over(WHITE, LIGHT_TINT), chosen.over(DARK_PAPER, DARK_TINT));
        let light = readable(lab, -STEP, [WHITE, light_tint]);
        let dark = readable(lab, STEP, [DARK_PAPER, dark_tint]);
        let darker = light.at(light.lightness * (1.0 - FURTHER));
        let lighter = dark.at(dark.lightness + FURTHER * (1.0 - dark.lightness));
        Self {
            light: Scheme::of(light, darker, light_tint),
            dark: Scheme::of(dark, lighter, dark_tint),
        }
    }

    /// The style sheet with these colours.
    pub(crate) fn css(&self) -> String {
        format!(
            ":root{{{}}}@media (prefers-color-scheme:dark){{:root{{{}}}}}\n",
            self.light, self.dark
        )
    }
}

impl Scheme {
    fn of(accent: Lab, strong: Lab, tint: Colour) -> Self {
        let (accent, strong) = (accent.colour(), strong.colour());
        Self { accent, strong, on_accent: accent.ink(), tint }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { accent, strong, on_accent, tint } = self;
        write!(
            f,
            "--accent:{accent};--accent-strong:{strong};--on-accent:{on_accent};--tint:{tint}"
        )
    }
}

/// The first lightness, starting from the chosen one, at which the colour is readable on all
/// `grounds`, and text is readable on it.
fn readable(chosen: Lab, step: f64, grounds: [Colour; 2]) -> Lab {
    let mut lab = chosen;
    // Black and white are the limits.
    while (0.0..=1.0).contains(&(lab.lightness + step)) {
        let colour = lab.colour();
        if grounds.iter().chain([&colour.ink()]).all(|one| colour.contrast(*one) >= CONTRAST) {
            return lab;
        }
        lab = lab.at(lab.lightness + step);
    }
    lab.at(if step < 0.0 { 0.0 } else { 1.0 })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_colour_is_six_hexadecimal_digits() {
        assert_eq!(Colour::parse("#0b5D70").unwrap().to_string(), "#0b5d70");
        for bad in ["", "#", "0b5d70", "#0b5d7", "#0b5d700", "#0b5d7g", "#+b5d70", "#ä5d70", "red"]
        {
            assert_eq!(Colour::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn contrast_is_that_of_wcag() {
        let black = Colour([0, 0, 0]);
        assert!((black.contrast(WHITE) - 21.0).abs() < 1e-9);
        let grey = Colour::parse("#767676").unwrap();
        assert!((grey.contrast(WHITE) - 4.54).abs() < 0.01);
    }

    #[test]
    fn a_readable_colour_is_unchanged_and_the_hue_stays() {
        let chosen = Colour::parse("#0b5d70").unwrap();
        assert_eq!(Accent::of(chosen).light.accent, chosen);
        for channel in [0, 1, 127, 128, 254, 255] {
            let colour = Colour([channel, 255 - channel, 77]);
            assert_eq!(Lab::of(colour).colour(), colour, "there and back");
        }
    }

    #[test]
    fn every_accent_is_readable_on_every_background_and_under_the_pointer() {
        let steps = [0, 51, 102, 153, 204, 255];
        for red in steps {
            for green in steps {
                for blue in steps {
                    let chosen = Colour([red, green, blue]);
                    let Accent { light, dark } = Accent::of(chosen);
                    for (scheme, paper) in [(light, WHITE), (dark, DARK_PAPER)] {
                        for ground in [paper, scheme.tint] {
                            let contrast = scheme.accent.contrast(ground);
                            assert!(contrast >= CONTRAST, "{chosen} {scheme} {contrast}");
                        }
                        for button in [scheme.accent, scheme.strong] {
                            let contrast = scheme.on_accent.contrast(button);
                            assert!(contrast >= CONTRAST, "{chosen} {scheme} {contrast}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_style_has_both_schemes() {
        let css = Accent::of(Colour::parse("#ffcc00").unwrap()).css();
        assert!(css.starts_with(":root{--accent:#"), "{css}");
        assert!(css.contains("}@media (prefers-color-scheme:dark){:root{--accent:#"), "{css}");
        assert!(!css.contains(['<', '"', '\'']), "{css}");
    }
}
