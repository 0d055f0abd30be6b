#!/usr/bin/env bash
# Installs header, libraries and idgate.pc below PREFIX, from the folder BUILT. Build first:
#   cargo build --release -p idgate-ffi && ./idgate-ffi/pkg-config.sh PREFIX target/release
set -euo pipefail
usage='usage: pkg-config.sh PREFIX BUILT'
prefix=$(mkdir -p "${1:?$usage}" && cd "$1" && pwd)
built=$(cd "${2:?$usage}" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)

install -d "$prefix/include" "$prefix/lib/pkgconfig"
install -m 644 idgate-ffi/include/idgate.h "$prefix/include/"
install -m 644 "$built/libidgate_ffi.a" "$prefix/lib/"
install -m 755 "$built/libidgate_ffi.so" "$prefix/lib/libidgate_ffi.so.1"
ln -sf libidgate_ffi.so.1 "$prefix/lib/libidgate_ffi.so"
cat >"$prefix/lib/pkgconfig/idgate.pc" <<END
prefix=$prefix
includedir=\${prefix}/include
libdir=\${prefix}/lib

Name: idgate
Description: Verifier side of OpenID4VP for SD-JWT VC and ISO/IEC 18013-5 mdoc
Version: $version
Cflags: -I\${includedir}
Libs: -L\${libdir} -lidgate_ffi
Libs.private: -lpthread -ldl -lm
END
