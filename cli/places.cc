#include "places.h"

#include <algorithm>
#include <cctype>

#include "secrets.h"

namespace holdfast::cli {
namespace {

bool is_taken(const std::vector<Place>& places, const std::string& name) {
  return std::ranges::find(places, name, &Place::name) != places.end();
}

std::string free_name(const std::vector<Place>& places, const std::string& stem) {
  std::string name = stem;
  for (int number = 2; is_taken(places, name); ++number) name = stem + "-" + std::to_string(number);
  return name;
}

Result<Place> place_of(const std::string& word) {
  const std::size_t name = length_of_place_name(word);
  const std::string where = word.substr(name);
  if (where.empty()) return Failure(Code::invalid_argument, "--on is empty: give a URL");
  Result<std::string> url = Session::resolve(where);
  if (!url) return url.failure();
  return Place{.name = name > 0 ? word.substr(0, name - 1) : "",
               .url = std::move(*url),
               .given = for_terminal(where)};
}

}  // namespace

std::string scheme_of(const std::string& url) {
  std::string scheme = url.substr(0, url.find(':'));
  if (scheme.empty() || scheme.size() == url.size()) return "sqlite";  // the default
  for (char& c : scheme) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return scheme;
}

Result<std::vector<Place>> places_of(const Session& session) {
  std::vector<Place> places;
  for (const std::string& word : session.every_on) {
    Result<Place> place = place_of(word);
    if (!place) return place.failure();
    if (!place->name.empty() && is_taken(places, place->name)) {
      return Failure(Code::invalid_argument, "two engines are called " + quoted_word(place->name) +
                                                 ": give each its own NAME");
    }
    places.push_back(std::move(*place));
  }
  if (places.empty()) {
    Result<std::string> url = session.url();
    if (!url) return url.failure();
    places.push_back({.name = {}, .url = std::move(*url), .given = {}});
  }
  // After those that were named.
  for (Place& place : places) {
    if (place.name.empty()) place.name = free_name(places, scheme_of(place.url));
  }
  return places;
}

}  // namespace holdfast::cli
