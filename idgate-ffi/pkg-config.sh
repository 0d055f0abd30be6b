#!/usr/bin/env bash
# Installs the header, the libraries, idgate.pc and the files for CMake into PREFIX, from the folder BUILT.
# Build first: cargo build --release -p idgate-ffi && ./idgate-ffi/pkg-config.sh PREFIX target/release
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
prefix=\${pcfiledir}/../..
includedir=\${prefix}/include
libdir=\${prefix}/lib

Name: idgate
Description: Verifier side of OpenID4VP for SD-JWT VC and ISO/IEC 18013-5 mdoc
Version: $version
Cflags: -I\${includedir}
Libs: -L\${libdir} -lidgate_ffi
Libs.private: -lpthread -ldl -lm
END

cmake=$prefix/lib/cmake/idgate
install -d "$cmake"
cat >"$cmake/idgateConfig.cmake" <<'END'
# find_package(idgate): the targets idgate::idgate, which is shared, and idgate::static.
get_filename_component(_idgate_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET idgate::idgate)
  find_package(Threads REQUIRED)
  add_library(idgate::idgate SHARED IMPORTED)
  set_target_properties(idgate::idgate PROPERTIES
    IMPORTED_LOCATION "${_idgate_prefix}/lib/libidgate_ffi.so.1"
    IMPORTED_SONAME libidgate_ffi.so.1
    INTERFACE_INCLUDE_DIRECTORIES "${_idgate_prefix}/include")
  add_library(idgate::static STATIC IMPORTED)
  set_target_properties(idgate::static PROPERTIES
    IMPORTED_LOCATION "${_idgate_prefix}/lib/libidgate_ffi.a"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m"
    INTERFACE_INCLUDE_DIRECTORIES "${_idgate_prefix}/include")
endif()
unset(_idgate_prefix)
END
cat >"$cmake/idgateConfigVersion.cmake" <<END
# Until 1.0 a minor version may break the interface.
set(PACKAGE_VERSION $version)
string(REGEX MATCH "^[0-9]+\\.[0-9]+" _idgate_minor "\${PACKAGE_FIND_VERSION}")
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION OR NOT _idgate_minor VERSION_EQUAL "${version%.*}")
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
unset(_idgate_minor)
END
