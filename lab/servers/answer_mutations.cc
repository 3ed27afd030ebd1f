#include "answer_mutations.h"

#include <algorithm>
#include <array>

namespace holdfast::test {

namespace {

constexpr unsigned char kNull = 0xfb;       // MySQL: in the place of a cell
constexpr unsigned char kTwoBytes = 0xfc;   // MySQL: the length of a cell follows in two bytes
constexpr unsigned char kEndOfRows = 0xfe;  // MySQL

std::size_t byte_at(const std::string& bytes, std::size_t i) {
  return static_cast<unsigned char>(bytes[i]);
}

std::string big_endian(std::size_t number, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(number >> (8 * i));
  return text;
}

std::size_t big_endian_at(const std::string& bytes, std::size_t i, std::size_t count) {
  std::size_t number = 0;
  for (std::size_t j = 0; j < count; ++j) number = number << 8 | byte_at(bytes, i + j);
  return number;
}

}  // namespace

void AnswerMutations::operator()(std::string& answer) {
  if (answer.empty() || below(one_in_) != 0) return;
  std::optional<Packets> packets = packets_in(answer);
  if (!packets || packets->empty()) return change_bytes(answer);
  switch (below(5)) {
    case 0: return change_bytes(answer);
    case 1: change_packets(*packets); break;
    case 2:
    case 3: change_cells(*packets); break;
    default: drop_column(*packets); break;
  }
  answer = bytes_of(*packets);
}

// ---- Packets -----------------------------------------------------------------------------------

std::optional<AnswerMutations::Packets> AnswerMutations::packets_in(
    const std::string& answer) const {
  const bool mysql = protocol_ == SqlProtocol::mysql;
  const std::size_t head = mysql ? 4 : 5;
  Packets packets;
  for (std::size_t i = 0; i < answer.size();) {
    if (answer.size() - i < head) return std::nullopt;
    std::size_t size = 0;
    if (mysql) {
      size = byte_at(answer, i) | byte_at(answer, i + 1) << 8 | byte_at(answer, i + 2) << 16;
    } else {
      const std::size_t length = big_endian_at(answer, i + 1, 4);
      if (length < 4) return std::nullopt;
      size = length - 4;
    }
    if (answer.size() - i - head < size) return std::nullopt;
    packets.push_back({answer[mysql ? i + 3 : i], answer.substr(i + head, size)});
    i += head + size;
  }
  return packets;
}

std::string AnswerMutations::bytes_of(const Packets& packets) const {
  std::string bytes;
  for (const Packet& packet : packets) {
    const std::size_t size = packet.body.size();
    if (protocol_ == SqlProtocol::mysql) {
      for (const int shift : {0, 8, 16}) bytes += static_cast<char>(size >> shift);
      bytes += packet.kind;
    } else {
      bytes += packet.kind + big_endian(size + 4, 4);
    }
    bytes += packet.body;
  }
  return bytes;
}

void AnswerMutations::change_bytes(std::string& answer) {
  switch (below(4)) {
    case 0: answer.resize(below(answer.size())); return;
    case 1:
      answer.insert(below(answer.size()), std::string(1 + below(8), static_cast<char>(random_())));
      return;
    default:
      for (std::size_t count = 1 + below(4); count > 0; --count) {
        answer[below(answer.size())] = static_cast<char>(random_());
      }
  }
}

void AnswerMutations::change_packets(Packets& packets) {
  const auto first = packets.front().kind;
  const auto place = packets.begin() + static_cast<std::ptrdiff_t>(below(packets.size()));
  switch (below(4)) {
    case 0: packets.erase(place); break;
    case 1: packets.insert(place, Packet(*place)); break;
    case 2: std::swap(*place, packets[below(packets.size())]); break;
    default: packets.resize(below(packets.size()) + 1); break;
  }
  // Half of the time in sequence, so that they are read.
  if (protocol_ != SqlProtocol::mysql || below(2) == 0) return;
  for (std::size_t i = 0; i < packets.size(); ++i) {
    packets[i].kind = static_cast<char>(static_cast<std::size_t>(first) + i);
  }
}

// ---- Rows --------------------------------------------------------------------------------------

std::optional<AnswerMutations::Cells> AnswerMutations::cells_in(const Packet& packet) const {
  const std::string& body = packet.body;
  Cells cells;
  if (protocol_ == SqlProtocol::postgres) {
    if (packet.kind != 'D' || body.size() < 2) return std::nullopt;
    for (std::size_t i = 2; i + 4 <= body.size();) {
      const std::size_t size = big_endian_at(body, i, 4);
      i += 4;
      const bool null = size == 0xffffffff;
      if (!null && size > body.size() - i) return std::nullopt;
      cells.push_back(null ? std::nullopt : std::optional(body.substr(i, size)));
      i += null ? 0 : size;
    }
    return cells;
  }
  for (std::size_t i = 0; i < body.size();) {
    std::size_t size = byte_at(body, i++);
    if (size == kNull) {
      cells.emplace_back();
      continue;
    }
    if (size == kTwoBytes && body.size() - i >= 2) {
      size = byte_at(body, i) | byte_at(body, i + 1) << 8;
      i += 2;
    } else if (size > kNull) {
      return std::nullopt;
    }
    if (size > body.size() - i) return std::nullopt;
    cells.emplace_back(body.substr(i, size));
    i += size;
  }
  return cells;
}

std::string AnswerMutations::body_of(const Cells& cells) const {
  std::string body;
  if (protocol_ == SqlProtocol::postgres) {
    body = big_endian(cells.size(), 2);
    for (const auto& cell : cells) {
      body += cell ? big_endian(cell->size(), 4) + *cell : big_endian(0xffffffff, 4);
    }
    return body;
  }
  for (const auto& cell : cells) {
    if (!cell) {
      body += static_cast<char>(kNull);
    } else if (cell->size() < kNull) {
      body += static_cast<char>(cell->size()) + *cell;
    } else {
      body += static_cast<char>(kTwoBytes);
      body += static_cast<char>(cell->size());
      body += static_cast<char>(cell->size() >> 8);
      body += *cell;
    }
  }
  return body;
}

void AnswerMutations::change_cells(Packets& packets) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < packets.size(); ++i) {
    const auto cells = cells_in(packets[i]);
    if (cells && !cells->empty()) rows.push_back(i);
  }
  if (rows.empty()) return change_packets(packets);
  // The later the likelier: descriptions of columns come first.
  Packet& packet = packets[rows[std::max(below(rows.size()), below(rows.size()))]];
  Cells cells = *cells_in(packet);
  change_cell(cells);
  packet.body = body_of(cells);
}

void AnswerMutations::change_cell(Cells& cells) {
  static const std::array<std::string, 10> kTexts{"",
                                                  "9223372036854775807",
                                                  "-9223372036854775808",
                                                  "x",
                                                  "-1",
                                                  "0",
                                                  "2",
                                                  "99999999999999999999",
                                                  std::string(3, '\0'),
                                                  std::string(300, '9')};
  const auto place = cells.begin() + static_cast<std::ptrdiff_t>(below(cells.size()));
  switch (below(6)) {
    case 0:
    case 1: place->reset(); break;
    case 2: cells.erase(place); break;
    case 3: cells.insert(place, std::optional<std::string>(*place)); break;
    default: *place = kTexts[below(kTexts.size())]; break;
  }
}

void AnswerMutations::drop_column(Packets& packets) {
  if (protocol_ == SqlProtocol::mysql) {
    drop_mysql_column(packets);
  } else {
    drop_postgres_column(packets);
  }
}

// The number of columns, each of them, an end, the rows, an end.
void AnswerMutations::drop_mysql_column(Packets& packets) {
  const auto is_end = [](const Packet& packet) {
    return !packet.body.empty() && byte_at(packet.body, 0) == kEndOfRows && packet.body.size() < 9;
  };
  for (std::size_t i = 0; i < packets.size(); ++i) {
    const std::size_t columns = packets[i].body.size() == 1 ? byte_at(packets[i].body, 0) : 0;
    if (columns == 0 || i + columns + 1 >= packets.size() || !is_end(packets[i + columns + 1])) {
      continue;
    }
    const std::size_t column = below(columns);
    for (std::size_t j = i + columns + 2; j < packets.size() && !is_end(packets[j]); ++j) {
      std::optional<Cells> cells = cells_in(packets[j]);
      if (!cells || cells->size() != columns) return;
      cells->erase(cells->begin() + static_cast<std::ptrdiff_t>(column));
      packets[j].body = body_of(*cells);
    }
    packets[i].body[0] = static_cast<char>(columns - 1);
    packets.erase(packets.begin() + static_cast<std::ptrdiff_t>(i + 1 + column));
    for (std::size_t j = i + 1; j < packets.size(); ++j) {
      packets[j].kind = static_cast<char>(packets[j - 1].kind + 1);
    }
    if (below(2) == 0) return;
  }
}

// A number, and for each column a name that ends in 0 and 18 bytes.
void AnswerMutations::drop_postgres_column(Packets& packets) {
  std::size_t column = 0;
  for (Packet& packet : packets) {
    std::string& body = packet.body;
    if (packet.kind == 'T' && body.size() > 2) {
      const std::size_t columns = big_endian_at(body, 0, 2);
      column = below(columns == 0 ? 1 : columns);
      std::size_t begin = 2;
      for (std::size_t i = 0;; ++i) {
        const std::size_t end = body.find('\0', begin);
        if (end == std::string::npos || body.size() - end < 19) return;
        if (i == column) {
          body.erase(begin, end + 19 - begin);
          break;
        }
        begin = end + 19;
      }
      body.replace(0, 2, big_endian(columns - 1, 2));
    } else if (std::optional<Cells> cells = cells_in(packet); cells && column < cells->size()) {
      cells->erase(cells->begin() + static_cast<std::ptrdiff_t>(column));
      body = body_of(*cells);
    }
  }
}

}  // namespace holdfast::test
