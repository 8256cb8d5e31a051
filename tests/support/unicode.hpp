// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tests of what needs Unicode's tables.

#include <iostream>

#include <fount/text/unicode.hpp>

namespace fount::test {

/// Whether there is something to test; says so if not.
inline bool unicode_here() {
  if (!has_unicode()) std::cout << "skipped: built without utf8proc\n";
  return has_unicode();
}

}  // namespace fount::test
