#include "sql.h"

namespace holdfast::bench {

std::vector<Division> sql_divisions(const std::string& system, const std::string& named_recipe,
                                    const std::string& named_statement,
                                    const std::function<std::string(const std::string&)>& url_of,
                                    int port) {
  const auto raw = [&](const char* kind, const std::string& name) {
    return own_entrant(name, Role::raw, system, "raw", kind + (":" + std::to_string(port)));
  };
  const auto ours = [&](const std::string& options, const std::string& name) {
    return holdfast_entrant(url_of(options), "Holdfast " + name);
  };
  constexpr const char* kPolled = "polled table";
  constexpr const char* kRow = "FOR UPDATE";
  const std::string named = "recipe=" + named_recipe;
  return {{.entrants = {ours("recipe=table", "table"), raw("poll", kPolled)},
           .standard = {.where = "lock table",
                        .same_cpu = {at_least(1, kPolled)},
                        .other_cpu = {at_least(1, kPolled)},
                        .hold_gap = {at_most(1, kPolled)},
                        .hold_owners = {at_least(1, kPolled)},
                        .hold_commands = {at_most(1, kPolled)},
                        .hot_owners = {at_least(1, kPolled)}}},
          {.entrants = {ours(named, named_recipe), raw("named", named_statement)},
           .standard = {.suffix = "_" + named_recipe,
                        .where = named_recipe,
                        .hold_gap = {at_most(1.5, named_statement)}}},
          {.entrants = {ours(named + "&tokens=no", named_recipe + " without token"),
                        raw("named", named_statement)},
           .standard = {.suffix = "_" + named_recipe + "_no_token",
                        .where = named_recipe + " without token",
                        .same_cpu = {at_least(0.9, named_statement)},
                        .other_cpu = {at_least(0.9, named_statement)}}},
          {.entrants = {ours("recipe=row", "row"), raw("row", kRow)},
           .standard = {.suffix = "_row", .where = "row", .hold_gap = {at_most(1.5, kRow)}}}};
}

int be_sql_raw_worker(MakeSqlRaw make, const std::string& what) {
  const std::size_t colon = what.find(':');
  return be_simple_worker([=, kind = what.substr(0, colon),
                           port = std::stoi(what.substr(colon + 1))](const std::string& name) {
    return make(kind, port, name);
  });
}

}  // namespace holdfast::bench
