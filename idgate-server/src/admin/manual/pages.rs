//! The parts of man pages that are not from the command line: settings, files and exit codes.

use std::fmt::Write as _;

use crate::config::SETTINGS;

/// idgate.toml(5): every setting as a key of the file, with its variable, its flag and its default.
pub(super) fn settings() -> String {
    let mut page = String::new();
    let version = env!("CARGO_PKG_VERSION");
    let _ = writeln!(page, ".TH idgate.toml 5 \"\" \"idgate {version}\" \"idgate\"");
    page.push_str(
        ".SH NAME\nidgate.toml \\- settings of idgate(1)\n\
         .SH DESCRIPTION\n\
         The settings file in TOML, given with \\fB\\-\\-config\\fR.\n\
         Each setting is a key of the file, an environment variable, and a flag before or after the command.\n\
         A flag wins over the environment, the environment over the file, the file over the default.\n\
         Write numbers in quotes, and lists as arrays of strings.\n\
         An unknown key is an error.\n\
         .B idgate \\-\\-config FILE config check\n\
         prints the settings in force and their origin.\n\
         .SH SETTINGS\n",
    );
    for setting in SETTINGS {
        let key = setting.flag_key();
        let flag = key.replace('_', "-");
        // A secret may also be in the settings file itself; a file of its own is safer.
        let suffix = if setting.secret { "_FILE" } else { "" };
        let _ = writeln!(page, ".TP\n\\fB{}\\fR", escaped(&key));
        let _ = writeln!(page, "{}.", escaped(setting.help));
        if let Some(default) = setting.default.filter(|default| !default.is_empty()) {
            let _ = writeln!(page, "Default: {}.", escaped(default));
        }
        let _ =
            writeln!(page, ".br\n{}{suffix}, {}", setting.variable, escaped(&format!("--{flag}")));
    }
    page.push_str(
        ".SH EXAMPLES\n.nf\n\
         data_dir = \"/var/lib/idgate\"\n\
         base_url = \"https://gateway.example\"\n\
         trusted_proxies = [\"127.0.0.1\", \"::1\"]\n\
         body_memory = \"512\"\n.fi\n\
         .SH SEE ALSO\n.BR idgate (1)\n",
    );
    page
}

/// The sections after the options on the page `name`.
pub(super) fn after(name: &str) -> String {
    if name != "idgate" {
        return ".SH SEE ALSO\n.BR idgate (1),\n.BR idgate.toml (5)\n".into();
    }
    ".SH SETTINGS\n\
     Every setting is also a flag of every command.\n\
     .BR idgate.toml (5)\n\
     lists them, and so does\n.B idgate help settings\n\
     .SH EXIT STATUS\n\
     .TP\n0\nSuccess.\n\
     .TP\n1\nAn error; the text on standard error says what to do.\n\
     .TP\n2\nThe command line is wrong.\n\
     .TP\n3\nA check failed, or a presentation is refused.\n\
     .TP\n4\nThe object was not found.\n\
     .SH FILES\n\
     .TP\n.I /etc/idgate/idgate.toml\nThe settings, if installed by the package.\n\
     .TP\n.I /var/lib/idgate\nThe data directory of the package: databases and, unless it is kept elsewhere, the instance key.\n\
     .SH SEE ALSO\n.BR idgate.toml (5)\n"
        .into()
}

/// Text without requests and escapes of roff.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\(rs").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
