#include "engines/zookeeper/packets.h"

namespace holdfast::internal::zookeeper {

namespace {

constexpr std::int32_t kAllRights = 31;
constexpr std::size_t kLength = 4;

void put_length(std::string& bytes, std::size_t place) {
  std::string length;
  JuteWriter(length).int32(static_cast<std::int32_t>(bytes.size() - place - kLength));
  bytes.replace(place, kLength, length);
}

// A packet whose number is known.
template <class F>
std::string packet(F write) {
  std::string bytes(kLength, '\0');
  write(JuteWriter(bytes));
  put_length(bytes, 0);
  return bytes;
}

void put_create(JuteWriter& writer, const std::string& path, std::string_view data,
                const Access& access, CreateMode mode) {
  writer.bytes(path);
  writer.bytes(data);
  writer.int32(1);
  writer.int32(kAllRights);
  writer.bytes(access.scheme);
  writer.bytes(access.id);
  writer.int32(static_cast<std::int32_t>(mode));
}

}  // namespace

bool is_write(Op op) {
  switch (op) {
    case Op::create:
    case Op::create2:
    case Op::create_container:
    case Op::remove:
    case Op::set_data:
    case Op::multi: return true;
    default: return false;
  }
}

std::string describe(Error error) {
  const auto text = [&]() -> const char* {
    switch (error) {
      case Error::none: return "no error";
      case Error::runtime_inconsistency: return "another step of the transaction failed";
      case Error::connection_loss: return "connection lost";
      case Error::unimplemented: return "not implemented";
      case Error::bad_arguments: return "bad arguments";
      case Error::no_node: return "no such node";
      case Error::no_auth: return "not authorized";
      case Error::bad_version: return "another version";
      case Error::no_children_for_ephemerals: return "the parent is ephemeral";
      case Error::node_exists: return "the node exists";
      case Error::not_empty: return "the node has children";
      case Error::session_expired: return "the session has expired";
      case Error::invalid_acl: return "invalid ACL";
      case Error::auth_failed: return "authentication failed";
      case Error::session_moved: return "the session has moved to another server";
      case Error::not_readonly: return "the server is read-only";
      case Error::quota_exceeded: return "quota exceeded";
      case Error::throttled: return "throttled";
    }
    return "error";
  };
  return std::string(text()) + " (" + std::to_string(static_cast<std::int32_t>(error)) + ")";
}

// ---- Asking ------------------------------------------------------------------------------------

std::size_t Requests::begin(Op op) {
  const std::size_t place = bytes_.size();
  bytes_.append(kLength, '\0');
  places_.push_back(bytes_.size());
  ops_.push_back(op);
  JuteWriter writer(bytes_);
  writer.int32(0);
  writer.int32(static_cast<std::int32_t>(op));
  return place;
}

void Requests::end(std::size_t place) { put_length(bytes_, place); }

std::string Requests::numbered(std::int32_t first) && {
  for (const std::size_t place : places_) {
    std::string number;
    JuteWriter(number).int32(first++);
    bytes_.replace(place, number.size(), number);
  }
  return std::move(bytes_);
}

void Requests::create(Op op, const std::string& path, std::string_view data, const Access& access,
                      CreateMode mode) {
  const std::size_t place = begin(op);
  JuteWriter writer(bytes_);
  put_create(writer, path, data, access, mode);
  end(place);
}

void Requests::remove(const std::string& path, std::int32_t version) {
  const std::size_t place = begin(Op::remove);
  JuteWriter writer(bytes_);
  writer.bytes(path);
  writer.int32(version);
  end(place);
}

void Requests::get_data(const std::string& path, bool watch) {
  const std::size_t place = begin(Op::get_data);
  JuteWriter writer(bytes_);
  writer.bytes(path);
  writer.boolean(watch);
  end(place);
}

void Requests::set_data(const std::string& path, std::string_view data, std::int32_t version) {
  const std::size_t place = begin(Op::set_data);
  JuteWriter writer(bytes_);
  writer.bytes(path);
  writer.bytes(data);
  writer.int32(version);
  end(place);
}

void Requests::get_children(const std::string& path, bool watch) {
  const std::size_t place = begin(Op::get_children);
  JuteWriter writer(bytes_);
  writer.bytes(path);
  writer.boolean(watch);
  end(place);
}

void Requests::close_session() { end(begin(Op::close_session)); }

// ---- Transactions ------------------------------------------------------------------------------

Requests::Transaction::~Transaction() {
  writer_.int32(-1);
  writer_.boolean(true);
  writer_.int32(-1);
  requests_.end(place_);
}

void Requests::Transaction::header(Op op) {
  writer_.int32(static_cast<std::int32_t>(op));
  writer_.boolean(false);
  writer_.int32(-1);
}

void Requests::Transaction::check(const std::string& path, std::int32_t version) {
  header(Op::check);
  writer_.bytes(path);
  writer_.int32(version);
}

void Requests::Transaction::create(const std::string& path, std::string_view data,
                                   const Access& access, CreateMode mode) {
  header(Op::create);
  put_create(writer_, path, data, access, mode);
}

void Requests::Transaction::set_data(const std::string& path, std::string_view data,
                                     std::int32_t version) {
  header(Op::set_data);
  writer_.bytes(path);
  writer_.bytes(data);
  writer_.int32(version);
}

void Requests::Transaction::remove(const std::string& path, std::int32_t version) {
  header(Op::remove);
  writer_.bytes(path);
  writer_.int32(version);
}

// ---- Hearing -----------------------------------------------------------------------------------

Stat Stat::from(JuteReader& reader) {
  Stat stat;
  stat.czxid = reader.int64();
  stat.mzxid = reader.int64();
  stat.ctime_ms = reader.int64();
  reader.int64();  // mtime
  stat.version = reader.int32();
  reader.int32();  // cversion
  reader.int32();  // aversion
  stat.owner = reader.int64();
  reader.int32();  // its length
  reader.int32();  // how many children it has
  reader.int64();  // pzxid
  return stat;
}

namespace {

void parse_steps(JuteReader& reader, Reply& reply) {
  // A type of -1 with "done" ends them. The bound is for bytes that make no sense.
  while (reader.sound() && reply.steps.size() < 100'000) {
    const std::int32_t type = reader.int32();
    const bool done = reader.boolean();
    const auto error = static_cast<Error>(reader.int32());
    if (done) return;
    Error step = Error::none;
    switch (static_cast<Op>(type)) {
      case Op::create: reader.bytes(); break;
      case Op::set_data: Stat::from(reader); break;
      case Op::remove:
      case Op::check: break;
      default:
        // An error: its number comes once more. (That of a step which would have succeeded is 0.)
        if (type != -1) return reader.refuse();
        reader.int32();
        step = error == Error::none ? Error::runtime_inconsistency : error;
    }
    reply.steps.push_back(step);
  }
}

}  // namespace

std::optional<Reply> parse_reply(Op op, Error error, std::string_view record) {
  Reply reply{.error = error, .path = {}, .stat = {}, .data = {}, .children = {}, .steps = {}};
  JuteReader reader(record);
  if (op == Op::multi) {
    // The results of its steps come also with an error, unless that has nothing to do with them.
    if (error != Error::none && record.empty()) return reply;
    parse_steps(reader, reply);
    if (!reader.sound()) return std::nullopt;
    for (const Error step : reply.steps) {
      if (step == Error::none || step == Error::runtime_inconsistency) continue;
      reply.error = step;
      break;
    }
    return reply;
  }
  if (error != Error::none) return reply;
  switch (op) {
    case Op::create: reply.path = reader.bytes(); break;
    case Op::create2:
    case Op::create_container:
      reply.path = reader.bytes();
      reply.stat = Stat::from(reader);
      break;
    case Op::get_data:
      reply.data = reader.bytes();
      reply.stat = Stat::from(reader);
      break;
    case Op::set_data: reply.stat = Stat::from(reader); break;
    case Op::get_children: reply.children = reader.strings(); break;
    default: return reply;  // The rest of the answer does not matter.
  }
  if (!reader.sound()) return std::nullopt;
  return reply;
}

std::optional<ReplyHeader> parse_header(std::string_view packet) {
  JuteReader reader(packet);
  ReplyHeader header;
  header.xid = reader.int32();
  header.zxid = reader.int64();
  header.error = static_cast<Error>(reader.int32());
  if (!reader.sound()) return std::nullopt;
  header.record = packet.substr(packet.size() - reader.left());
  return header;
}

std::optional<WatchEvent> parse_event(std::string_view record) {
  JuteReader reader(record);
  const std::int32_t type = reader.int32();
  reader.int32();  // the state of the connection: it is there
  WatchEvent event{static_cast<WatchEvent::Type>(type), std::string(reader.bytes())};
  if (!reader.sound()) return std::nullopt;
  if (type < 1 || type > 4) event.path.clear();
  return event;
}

std::string encode(const Greeting& greeting) {
  return packet([&](JuteWriter writer) {
    writer.int32(0);  // the protocol's version
    writer.int64(greeting.last_zxid);
    writer.int32(greeting.timeout_ms);
    writer.int64(greeting.session);
    writer.bytes(greeting.password.empty() ? std::string(16, '\0') : greeting.password);
    writer.boolean(false);  // A server that can only be read is of no use.
  });
}

std::optional<Welcome> parse_welcome(std::string_view packet) {
  JuteReader reader(packet);
  reader.int32();
  Welcome welcome;
  welcome.timeout_ms = reader.int32();
  welcome.session = reader.int64();
  welcome.password = reader.bytes();
  if (!reader.sound()) return std::nullopt;
  return welcome;
}

std::string encode_ping() {
  return packet([](JuteWriter writer) {
    writer.int32(kPingXid);
    writer.int32(static_cast<std::int32_t>(Op::ping));
  });
}

std::string encode_login(const std::string& scheme, std::string_view secret) {
  return packet([&](JuteWriter writer) {
    writer.int32(kAuthXid);
    writer.int32(static_cast<std::int32_t>(Op::auth));
    writer.int32(0);
    writer.bytes(scheme);
    writer.bytes(secret);
  });
}

std::string encode_set_watches(std::int64_t seen_zxid, const std::vector<std::string>& data,
                               const std::vector<std::string>& children) {
  return packet([&](JuteWriter writer) {
    writer.int32(kSetWatchesXid);
    writer.int32(static_cast<std::int32_t>(Op::set_watches));
    writer.int64(seen_zxid);
    writer.strings(data);
    writer.strings({});
    writer.strings(children);
  });
}

}  // namespace holdfast::internal::zookeeper
