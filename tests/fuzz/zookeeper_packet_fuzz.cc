// Bytes from a ZooKeeper server, cut at any places, through the cutter of packets and the parsers
// of what is in them; then what is decided from a list of nodes. The first two bytes of an input
// choose the cuts and the operation that a reply is taken for.
#include <array>
#include <vector>

#include "engines/zookeeper/node_data.h"
#include "engines/zookeeper/packets.h"
#include "engines/zookeeper/queue.h"
#include "fuzz.h"

namespace {

using namespace holdfast;                       // NOLINT(google-build-using-namespace): small
using namespace holdfast::internal::zookeeper;  // NOLINT(google-build-using-namespace)
using fuzz::must;

struct Cut {
  std::vector<std::string> packets;
  bool sound = true;
};

// In pieces of 1 to `longest` bytes, drawn from `seed`; in one piece if `longest` is 0.
Cut cut(std::string_view bytes, std::size_t longest, std::uint32_t seed) {
  Cut result;
  PacketCutter cutter;
  while (!bytes.empty() && result.sound) {
    seed = seed * 1664525 + 1013904223;
    const std::string_view front =
        longest == 0 ? bytes : bytes.substr(0, 1 + (seed >> 8) % longest);
    const std::vector<char> piece(front.begin(), front.end());  // a byte too far is seen
    bytes.remove_prefix(piece.size());
    result.sound = cutter.feed({piece.data(), piece.size()}, [&](std::string_view packet) {
      result.packets.emplace_back(packet);
    });
  }
  return result;
}

void decide_about(const std::vector<std::string>& children) {
  const std::vector<ClaimNode> nodes = in_order(children);
  std::size_t exclusive = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Decision decision = decide(children, nodes[i].name);
    must(decision.present, "who is in the list is found");
    must(!decision.end_grants || !decision.watch.empty(), "a grant comes from somebody's end");
    must(decision.granted || decision.watch != nodes[i].name, "nobody waits for itself");
    if (holds(nodes, i) && nodes[i].mode == Mode::exclusive) ++exclusive;
  }
  must(exclusive <= 1, "one holds exclusively");
}

void read_packet(const std::string& packet, Op op) {
  static_cast<void>(parse_welcome(packet));
  const std::optional<ReplyHeader> header = parse_header(packet);
  if (!header) return;
  const std::optional<WatchEvent> event = parse_event(header->record);
  static_cast<void>(event);
  const std::optional<Reply> reply = parse_reply(op, header->error, header->record);
  if (!reply) return;
  decide_about(reply->children);
  const std::optional<NodeData> data = NodeData::parse(reply->data);
  if (!data) return;
  must(data->ttl >= Duration(0), "no time is negative");
  const std::optional<NodeData> again = NodeData::parse(data->text());
  must(again && again->label == data->label && again->token == data->token &&
           again->held == data->held && again->session.has_value() == data->session.has_value(),
       "data that was read can be written and read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  constexpr std::array kOps{Op::create2,  Op::get_data, Op::get_children, Op::multi,
                            Op::set_data, Op::create,   Op::sync};
  const std::string_view bytes = fuzz::text_of(data + 2, size - 2);
  const Cut whole = cut(bytes, 0, 0);
  const Cut pieces = cut(bytes, std::size_t{1} + data[0] % 32, data[1]);
  must(whole.sound == pieces.sound, "cuts do not decide what is the protocol");
  must(whole.packets == pieces.packets, "cuts do not decide what a packet is");
  for (const std::string& packet : whole.packets) {
    read_packet(packet, kOps[data[1] % kOps.size()]);
  }
  return 0;
}
