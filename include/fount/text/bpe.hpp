// SPDX-License-Identifier: Apache-2.0
#pragma once
// Byte-level byte-pair encoding: GPT-2's kind of tokenizer. Text is cut into pieces, the bytes of a
// piece merge to tokens. Its files are read in text/load_tokenizer.hpp.
// Sennrich, Haddow & Birch 2016 (https://arxiv.org/abs/1508.07909); Radford et al. 2019.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fount/core/error.hpp>
#include <fount/text/added_tokens.hpp>
#include <fount/text/bpe_json.hpp>
#include <fount/text/bpe_model.hpp>
#include <fount/text/merge_piece.hpp>
#include <fount/text/piece_cache.hpp>
#include <fount/text/split.hpp>
#include <fount/text/token_table.hpp>
#include <fount/text/tokenizer.hpp>

namespace fount {

class BpeTokenizer final : public Tokenizer {
 public:
  /// @throws Error if a byte has no token, a token or merge stands twice, a merge does not fit its
  ///         tokens, or an added token has the id of another token; ConfigError without utf8proc
  explicit BpeTokenizer(BpeModel model)
      : model_(std::move(model)),
        table_(model_.tokens),
        workspaces_(std::make_unique<Workspaces>()) {
    UnicodeTable::get();  // refuse now, not in the middle of a text
    check_tokens();
    if (!model_.merge_by_id) add_merges();
    add_added_tokens();
  }

  std::string_view kind() const override { return "bpe"; }
  std::int32_t vocab_size() const override { return static_cast<std::int32_t>(names_.size()); }
  /// Ids that published vocabularies leave out stand for no bytes.
  std::string_view token(std::int32_t id) const override {
    check_id(id);
    const auto at = static_cast<std::size_t>(id);
    return names_[at].empty() && at < table_.size() ? table_[at] : std::string_view(names_[at]);
  }
  std::vector<SpecialToken> special_tokens() const override {
    std::vector<SpecialToken> tokens;
    for (const AddedToken& token : model_.added) {
      if (token.special) tokens.push_back({token.content, token.id});
    }
    std::ranges::sort(tokens, {}, &SpecialToken::id);
    return tokens;
  }
  /// <|endoftext|>, or what Llama 3 calls it.
  std::optional<std::int32_t> end_of_text() const override {
    const AddedToken* token = end_token();
    return token == nullptr ? std::nullopt : std::optional(token->id);
  }

  using Tokenizer::encode;
  void encode(std::string_view text, std::vector<std::int32_t>& ids) const override {
    encode_around(always_, text, ids);
  }
  void encode(std::string_view text, const AllowedSpecial& allowed,
              std::vector<std::int32_t>& ids) const override {
    with_finder(allowed, [&](const AddedTokenFinder& finder) { encode_around(finder, text, ids); });
  }
  using Tokenizer::next_cut;
  std::size_t next_cut(std::string_view text, std::size_t at,
                       const AllowedSpecial& allowed) const override {
    std::size_t cut = text.size();
    with_finder(allowed, [&](const AddedTokenFinder& finder) {
      for (cut = next_certain_cut(text, at); cut < text.size() && finder.crosses(text, cut);) {
        cut = next_certain_cut(text, cut + 1);
      }
    });
    return cut;
  }
  std::string to_json() const override { return bpe_tokenizer_json(model_); }

  const BpeModel& model() const { return model_; }

 protected:
  void add_rules(Hash64& hash) const override {
    hash.add(name_of(model_.split));
    // Merging by id is the list that does the same, which a file may hold instead.
    hash.add(static_cast<std::uint64_t>(model_.merge_by_id || model_.ignore_merges));
    const auto add = [&](const std::vector<BpeMerge>& merges) {
      for (const BpeMerge& merge : merges) {
        hash.add(static_cast<std::uint64_t>(merge.left)).add(static_cast<std::uint64_t>(merge.right));
      }
    };
    add(model_.merge_by_id ? merges_by_id(table_) : model_.merges);
  }

 private:
  struct Workspace {
    PieceCache cache;
    PieceMerger merger;
    std::vector<std::int32_t> ids;  // of one piece
  };
  /// Workspaces that nobody uses now: as many as threads ever encoded at once.
  struct Workspaces {
    std::mutex mutex;
    std::vector<std::unique_ptr<Workspace>> free;
  };
  /// A workspace while one text is encoded.
  class Lease {
   public:
    explicit Lease(Workspaces& all) : all_(&all) {
      const std::lock_guard lock(all_->mutex);
      if (all_->free.empty()) return;
      own_ = std::move(all_->free.back());
      all_->free.pop_back();
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() {
      if (!own_) return;
      try {
        const std::lock_guard lock(all_->mutex);
        all_->free.push_back(std::move(own_));
      } catch (...) {  // no memory for the list: the next text makes a new one
      }
    }
    Workspace& get() {
      if (!own_) own_ = std::make_unique<Workspace>();
      return *own_;
    }

   private:
    Workspaces* all_;
    std::unique_ptr<Workspace> own_;
  };

  void check_tokens() {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(static_cast<unsigned char>(byte));
      bytes_[byte] = table_.find({&c, 1});
      if (bytes_[byte] != no_token) continue;
      throw Error("bpe: no token for the byte " + std::to_string(byte) +
                  ", so that not every text could be encoded; the vocabulary must have all 256");
    }
    for (std::size_t id = 0; id < table_.size(); ++id) {
      if (table_[id].empty()) continue;
      const std::int32_t first = table_.find(table_[id]);
      if (first == static_cast<std::int32_t>(id)) continue;
      throw Error("bpe: tokens " + std::to_string(first) + " and " + std::to_string(id) +
                  " are the same bytes; each must differ");
    }
    names_.resize(table_.size());
  }

  void add_merges() {
    pairs_ = PairTable(model_.merges.size());
    for (std::size_t rank = 0; rank < model_.merges.size(); ++rank) {
      const BpeMerge& merge = model_.merges[rank];
      const auto bytes = [&](std::int32_t id) {
        return id >= 0 && static_cast<std::size_t>(id) < table_.size()
                   ? table_[static_cast<std::size_t>(id)]
                   : std::string_view();
      };
      const std::string both = std::string(bytes(merge.left)) + std::string(bytes(merge.right));
      if (bytes(merge.left).empty() || bytes(merge.right).empty() || bytes(merge.result) != both) {
        throw Error("bpe: merge " + std::to_string(rank) + " of the tokens " +
                    std::to_string(merge.left) + " and " + std::to_string(merge.right) + " gives " +
                    std::to_string(merge.result) + ", which is not both their bytes");
      }
      if (!pairs_.insert(merge.left, merge.right,
                         {static_cast<std::uint32_t>(rank), merge.result})) {
        throw Error("bpe: merge " + std::to_string(rank) + " of the tokens " +
                    std::to_string(merge.left) + " and " + std::to_string(merge.right) +
                    " is there already; each pair must stand once");
      }
    }
  }

  void add_added_tokens() {
    for (const AddedToken& token : model_.added) {
      const auto id = static_cast<std::size_t>(token.id);
      if (token.content.empty() || token.id < 0) {
        throw Error("bpe: the added token '" + token.content + "' with id " +
                    std::to_string(token.id) + "; it needs a name and an id from 0");
      }
      const bool taken = id < names_.size() &&
                         (!names_[id].empty() || (id < table_.size() && !table_[id].empty() &&
                                                  table_[id] != token.content));
      const auto same = [&](const AddedToken& other) { return other.content == token.content; };
      if (taken || std::ranges::count_if(model_.added, same) > 1) {
        throw Error("bpe: the added token '" + token.content + "' with id " +
                    std::to_string(token.id) + ", but " +
                    (taken ? "that id belongs to another token" : "that name stands twice"));
      }
      if (names_.size() <= id) names_.resize(id + 1);
      names_[id] = token.content;
      if (!token.special) always_.add(token);
      every_.add(token);
    }
  }

  const AddedToken* end_token() const {
    for (const char* name : {"<|endoftext|>", "<|end_of_text|>"}) {
      const auto at = std::ranges::find(model_.added, name, &AddedToken::content);
      if (at != model_.added.end() && at->special) return &*at;
    }
    return nullptr;
  }
  std::string end_of_text_config() const override {
    const AddedToken* token = end_token();
    if (token == nullptr) return {};
    const bool llama =
        std::ranges::count(model_.added, "<|begin_of_text|>", &AddedToken::content) > 0;
    return "  \"bos_token\": \"" + (llama ? "<|begin_of_text|>" : token->content) +
           "\",\n  \"eos_token\": \"" + token->content + "\",\n";
  }

  template <class Use>
  void with_finder(const AllowedSpecial& allowed, Use&& use) const {
    if (allowed.is_all()) return use(every_);
    if (allowed.names().empty()) return use(always_);
    AddedTokenFinder finder;
    for (const std::string& name : allowed.names()) find_special(name);
    for (const AddedToken& token : model_.added) {
      if (!token.special || std::ranges::count(allowed.names(), token.content) > 0) {
        finder.add(token);
      }
    }
    use(finder);
  }

  void encode_around(const AddedTokenFinder& finder, std::string_view text,
                     std::vector<std::int32_t>& ids) const {
    Lease lease(*workspaces_);
    Workspace& work = lease.get();
    const auto encode_text = [&](std::string_view part) { encode_ordinary(part, work, ids); };
    finder.visit(text, encode_text, [&](std::int32_t id) { ids.push_back(id); });
  }

  void encode_ordinary(std::string_view text, Workspace& work,
                       std::vector<std::int32_t>& ids) const {
    // Written here first: growing the result by one each time is slower than the table is.
    std::array<std::int32_t, 4096> buffer;
    std::size_t filled = 0;
    const auto flush = [&] {
      ids.insert(ids.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(filled));
      filled = 0;
    };
    for_each_piece(model_.split, text, [&](std::size_t begin, std::size_t end) {
      const std::string_view piece = text.substr(begin, end - begin);
      if (filled + PieceCache::max_ids > buffer.size()) flush();
      if (piece.size() > PieceCache::max_bytes) {
        flush();
        encode_piece(piece, work, ids);
        return;
      }
      const auto key = PieceCache::key_of(piece.data(), piece.size(), text.size() - begin);
      PieceCache::Entry& entry = work.cache.place_of(key);
      if (entry.key != key) {
        work.ids.clear();
        encode_piece(piece, work, work.ids);
        if (work.ids.size() > PieceCache::max_ids) {
          flush();
          ids.insert(ids.end(), work.ids.begin(), work.ids.end());
          return;
        }
        PieceCache::remember(entry, key, work.ids);
      }
      std::copy_n(entry.ids.begin(), entry.count,
                  buffer.begin() + static_cast<std::ptrdiff_t>(filled));
      filled += entry.count;
    });
    flush();
  }

  void encode_piece(std::string_view piece, Workspace& work, std::vector<std::int32_t>& ids) const {
    if (model_.ignore_merges || model_.merge_by_id) {
      const std::int32_t id = table_.find(piece);
      if (id != no_token) return ids.push_back(id);
    }
    if (model_.merge_by_id) {
      work.merger.merge(piece, bytes_, TokenRanks{table_}, ids);
    } else {
      work.merger.merge(piece, bytes_, PairRanks{pairs_}, ids);
    }
  }

  BpeModel model_;
  TokenTable table_;                       // the ordinary tokens
  std::vector<std::string> names_;         // of the added tokens, by id; else empty
  std::array<std::int32_t, 256> bytes_{};  // the id of each byte
  PairTable pairs_;
  AddedTokenFinder always_;  // added tokens that are not special
  AddedTokenFinder every_;
  std::unique_ptr<Workspaces> workspaces_;
};

}  // namespace fount
