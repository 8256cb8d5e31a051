// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tokens that are found in the text itself, before it is cut into pieces: special tokens where they
// are allowed, and words added to a vocabulary later. Leftmost first, the longest of those that
// begin at one place, as Hugging Face's tokenizers and tiktoken do.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fount/text/token_table.hpp>

namespace fount {

/// An entry of "added_tokens" in a tokenizer.json.
struct AddedToken {
  std::string content;
  std::int32_t id = no_token;
  bool special = true;      // ordinary text unless allowed; others are always found
  bool normalized = false;  // looked for in what those without left over
};

/// Finds strings in a text, by a tree of their bytes.
class StringFinder {
 public:
  struct Match {
    std::size_t begin;
    std::size_t end;  // begin if nothing was found
    std::int32_t id;
  };

  StringFinder() : nodes_(1) {}
  void add(std::string_view content, std::int32_t id) {
    std::size_t node = 0;
    for (const char c : content) {
      std::size_t next = child(node, c);
      if (next == 0) {
        next = nodes_.size();
        nodes_[node].children.push_back({c, next});
        nodes_.emplace_back();
      }
      node = next;
    }
    nodes_[node].id = id;
    longest_ = std::max(longest_, content.size());
    if (!content.empty()) first_[static_cast<unsigned char>(content[0])] = true;
  }
  bool empty() const { return longest_ == 0; }

  /// The first match at or after byte `at`.
  Match find(std::string_view text, std::size_t at) const {
    for (; at < text.size(); ++at) {
      if (!first_[static_cast<unsigned char>(text[at])]) continue;
      const Match match = match_at(text, at);
      if (match.end > at) return match;
    }
    return {text.size(), text.size(), no_token};
  }
  /// Whether one of the strings stands in the text across byte `cut`.
  bool crosses(std::string_view text, std::size_t cut) const {
    for (std::size_t at = cut > longest_ ? cut - longest_ : 0; at < cut; ++at) {
      if (match_at(text, at).end > cut) return true;
    }
    return false;
  }

 private:
  struct Child {
    char c;
    std::size_t node;
  };
  struct Node {
    std::vector<Child> children;
    std::int32_t id = no_token;
  };

  std::size_t child(std::size_t node, char c) const {
    for (const Child& child : nodes_[node].children) {
      if (child.c == c) return child.node;
    }
    return 0;
  }
  /// The longest match that begins at `at`.
  Match match_at(std::string_view text, std::size_t at) const {
    Match match{at, at, no_token};
    std::size_t node = 0;
    for (std::size_t end = at; end < text.size();) {
      node = child(node, text[end]);
      if (node == 0) break;
      ++end;
      if (nodes_[node].id != no_token) match = {at, end, nodes_[node].id};
    }
    return match;
  }

  std::vector<Node> nodes_;
  std::array<bool, 256> first_{};
  std::size_t longest_ = 0;
};

/// The added tokens of a tokenizer that are looked for, in two passes.
class AddedTokenFinder {
 public:
  void add(const AddedToken& token) {
    (token.normalized ? second_ : first_).add(token.content, token.id);
  }
  bool empty() const { return first_.empty() && second_.empty(); }
  bool crosses(std::string_view text, std::size_t cut) const {
    return first_.crosses(text, cut) || second_.crosses(text, cut);
  }

  /// Calls on_text(part) for what lies between the tokens and on_token(id) for each, from left to
  /// right; parts are never empty.
  template <class OnText, class OnToken>
  void visit(std::string_view text, OnText&& on_text, OnToken&& on_token) const {
    visit(
        first_, text, [&](std::string_view part) { visit(second_, part, on_text, on_token); },
        on_token);
  }

 private:
  template <class OnText, class OnToken>
  static void visit(const StringFinder& finder, std::string_view text, OnText&& on_text,
                    OnToken&& on_token) {
    std::size_t at = 0;
    while (!finder.empty()) {
      const StringFinder::Match match = finder.find(text, at);
      if (match.end == match.begin) break;
      if (match.begin > at) on_text(text.substr(at, match.begin - at));
      on_token(match.id);
      at = match.end;
    }
    if (at < text.size()) on_text(text.substr(at));
  }

  StringFinder first_;
  StringFinder second_;
};

}  // namespace fount
