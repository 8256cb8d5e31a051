# SPDX-License-Identifier: Apache-2.0
# Functions for the scripts that must work on a bare Debian or Ubuntu. To be read with `.`.

# install_packages PACKAGE...: installs those that are missing, as root or with sudo. Where neither
# is possible it names the command, and fails unless the tools are there without the packages.
install_packages() {
  missing=
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$' ||
      missing="$missing $package"
  done
  [ -z "$missing" ] && return 0

  as_root=
  if [ "$(id -u)" -ne 0 ]; then
    as_root=sudo
  fi
  if command -v apt-get >/dev/null 2>&1 &&
    { [ -z "$as_root" ] || command -v sudo >/dev/null 2>&1; }; then
    echo "Installing$missing"
    # An old package list is enough as long as it has the packages.
    install="env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends"
    # shellcheck disable=SC2086
    $as_root $install $missing >/dev/null 2>&1 && return 0
    # shellcheck disable=SC2086
    $as_root apt-get update -q && $as_root $install $missing && return 0
    echo "apt-get could not install:$missing"
  else
    echo "Not installed:$missing"
    echo "As root: apt-get install$missing"
  fi
  # Compilers and libraries may have come another way: cmake will say what it does not find.
  for tool in c++ make cmake; do
    command -v $tool >/dev/null 2>&1 || { echo "$tool is not there"; return 1; }
  done
}

# How many processors this process may use.
processors() {
  nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1
}
