// Node: the lock operations at ONE memcached server. Each tells what the server said, and when the
// request was sent; who holds a lock, and what to try again, is for the caller to decide: one
// server is a lock of its own, several are votes. Inside the loop only.
//
// How each of them can break, and what keeps it from that:
//   take     `add` stores only where nothing is. A repetition after a lost reply finds the claim's
//            own word.
//   replace  `cas` changes only the item that was read: never one that was released, or that is
//            another's. It creates nothing.
//   remove   `md C<cas>`, the same.
//   memory   `ms`, the meta command for add and cas, deletes what stands under the key if there is
//            no memory for the new item, whatever its conditions: it would end another's hold.
//            So the old commands store, and an `mg` right behind them tells the cas.
//   cas      numbers begin at 1 again when the server is restarted, so that the cas of a lost word
//            can be that of its successor. A Stamp is therefore used on the connection that it came
//            from, or not at all: Verdict::stale, and nothing was sent.
// An error of the server's that is none of these is a failure; see Connection::failure_of.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engines/memcached/connection.h"
#include "engines/memcached/word.h"

namespace holdfast::internal::memcached {

// Which version of an item, on which connection.
struct Stamp {
  std::uint64_t cas = 0;
  std::uint64_t generation = 0;
};

// The item under a lock's key.
struct Sight {
  bool present = false;
  std::optional<Word> word;  // nothing if another program's item stands there
  Stamp stamp;
  std::optional<Duration> left;  // that it surely has; nothing: it has no ttl
  BootTime sent_at;

  bool free() const { return !present; }
  bool of(const ClaimId& claim) const { return word && word->claim == claim; }
};

inline constexpr const char* kForeignLabel =
    "another program (its item stands under the lock's key)";

// A claim's word, written at `now`.
Word word_of(const Claim& claim, Token token, WallTime now);
// The holder, for people. REQUIRES: present.
HolderInfo holder_info(const Sight& seen, WallTime now);

// The outcome of taking.
struct Taking {
  std::optional<Stamp> stamp;  // of the word, if it was taken
  Token token;                 // drawn after it was taken, if asked for
  std::optional<Failure> no_token;
  Sight seen;  // what stood there right afterwards
  BootTime sent_at;
};

enum class Verdict {
  done,
  changed,  // another cas: look again
  gone,     // there is no such item
  stale,    // the stamp is of another connection: look again; nothing was sent
};

struct Change {
  Verdict verdict = Verdict::stale;
  Stamp stamp;  // the new one, if it is done
  BootTime sent_at;
};

struct Replacement {
  const Keys* keys;
  const Word* word;
  ItemTtl ttl;
  Stamp stamp;
};

// Whether a claim still has its word, and since when its ttl counts.
struct Kept {
  bool held = false;
  Stamp stamp;
  Token token;
  BootTime sent_at;
};

class Node {
 public:
  Node(Runtime& runtime, const Settings& settings);

  // Adds the word, looks who has it, and (with `draw`) draws a token: one round trip. A token is
  // drawn also if the word was not stored; it is then nobody's.
  Task<Result<Taking>> take(const Keys& keys, const Word& word, ItemTtl ttl, bool draw,
                            Deadline deadline, std::stop_token stop = {});
  Task<Result<Sight>> look(const Keys& keys, Deadline deadline, std::stop_token stop = {});
  // The next token. REQUIRES: the caller holds the lock, or tokens would not be in its order.
  Task<Result<Token>> draw(const Keys& keys, Deadline deadline);
  // The last token that was drawn; 0 if none is known.
  Task<Result<Token>> last_token(const Keys& keys, Deadline deadline);

  Task<Result<Change>> replace(Replacement what, Deadline deadline);
  // Several, in one write; one outcome each.
  Task<std::vector<Result<Change>>> replace_all(const std::vector<Replacement>& all,
                                                Deadline deadline);
  Task<Result<Verdict>> remove(const Keys& keys, Stamp stamp, Deadline deadline);

  // ---- Made of those: by claim, not by stamp ------------------------------------------------------
  // Gives the claim's word its whole ttl again, and records word.token (if that is 0: keeps what
  // is recorded). `stamp`: what the word is thought to have.
  Task<Result<Kept>> renew(const Keys& keys, Word word, ItemTtl ttl, std::optional<Stamp> stamp,
                           Deadline deadline);
  // True if the claim held it.
  Task<Result<bool>> release(const Keys& keys, ClaimId claim, std::optional<Stamp> stamp,
                             Deadline deadline);
  // Ends the hold that has this token. False if there is none.
  Task<Result<bool>> evict(const Keys& keys, Token token, Deadline deadline);
  // Waits a moment for a token that is being recorded.
  Task<Result<Sight>> look_for_token(const Keys& keys, Deadline deadline,
                                     std::stop_token stop = {});

  // Every word whose key begins with `prefix`, or is that of a hashed name. It goes through all
  // items of the server, on a connection of its own.
  Task<Result<std::vector<Sight>>> list(const std::string& prefix, const std::string& name_prefix,
                                        Deadline deadline);

  Connection& connection() { return connection_; }
  // Whether the stamp can be used.
  bool fresh(const Stamp& stamp) const {
    return connection_.connected() && connection_.generation() == stamp.generation;
  }

 private:
  std::string draw_command(const Keys& keys) const;
  Result<Token> drawn(const Reply& reply);
  Result<Sight> sight(const Reply& reply, const Answers& answers);
  Result<Change> change(const ClaimId& claim, const Answers& answers, std::size_t at);

  Runtime& runtime_;
  const Settings settings_;
  Connection connection_;
  Token highest_;  // ever drawn here
};

}  // namespace holdfast::internal::memcached
