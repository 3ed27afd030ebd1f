// AnswerMutations: changes what a database server answers, as a broken server, a proxy or another version
// might: bytes that differ, packets that are missing or come twice, and answers that are sound packets with
// other rows, columns and cells than were asked for. The same seed makes the same changes.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace holdfast::test {

enum class SqlProtocol { mysql, postgres };

class AnswerMutations {
 public:
  // `one_in`: about one answer in so many is changed.
  AnswerMutations(SqlProtocol protocol, std::uint64_t seed, unsigned one_in)
      : protocol_(protocol), random_(seed), one_in_(one_in) {}

  // Changes what came from the server in one piece, or leaves it as it is.
  void operator()(std::string& answer);

 private:
  struct Packet {
    char kind = 0;  // PostgreSQL: the type of the message. MySQL: the number in the sequence.
    std::string body;
  };
  using Packets = std::vector<Packet>;
  using Cells = std::vector<std::optional<std::string>>;

  std::size_t below(std::size_t limit) { return random_() % limit; }
  // Nothing if it is no sequence of whole packets.
  std::optional<Packets> packets_in(const std::string& answer) const;
  std::string bytes_of(const Packets& packets) const;

  void change_bytes(std::string& answer);
  void change_packets(Packets& packets);
  void change_cells(Packets& packets);
  void change_cell(Cells& cells);
  // Takes a column out of every row, and out of the description of the rows.
  void drop_column(Packets& packets);
  void drop_mysql_column(Packets& packets);
  void drop_postgres_column(Packets& packets);

  std::optional<Cells> cells_in(const Packet& packet) const;
  std::string body_of(const Cells& cells) const;

  SqlProtocol protocol_;
  std::mt19937_64 random_;
  unsigned one_in_;
};

}  // namespace holdfast::test
