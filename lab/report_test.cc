#include "lab/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lab/timeline.h"
#include "tests/cli/hostile.h"

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

History pause_story() {
  History history;
  BootTime now{1s};
  const auto add = [&](const char* who, EventKind kind, std::uint64_t token = 0,
                       const char* resource = "", std::int64_t value = 0, const char* text = "") {
    history.push_back({now += 3ms, who, kind, resource, token, value, text});
  };
  add("A", EventKind::asked);
  add("A", EventKind::granted, 33);
  for (const char* fence : {"none", "writes", "full"}) {
    add("A", EventKind::read, 33, ("s/" + std::string(fence) + "/register").c_str(), 0);
  }
  add("A", EventKind::paused, 0, "", 0, "<after> its check");
  now += 2s;
  add("B", EventKind::asked);
  add("B", EventKind::granted, 34);
  add("B", EventKind::read, 34, "s/none/register", 0);
  add("B", EventKind::wrote, 34, "s/none/register", 1);
  add("A", EventKind::resumed);
  add("A", EventKind::wrote, 33, "s/none/register", 1);
  add("A", EventKind::barred, 33, "s/full/register", 1, "write");
  add("server", EventKind::fault, 0, "", 0, "node 1 killed & gone");
  add("server", EventKind::heal);
  add("C", EventKind::probed);
  return history;
}

Report report() {
  Report report;
  report.title = "Holdfast <torture>";
  report.rows = {{"1", "a pause", "A holds", "A pauses", "both write"}};
  report.engines = {"redis", "sqlite"};
  Cell& cell = report.at("1", "redis");
  cell.expected = {.overlap = Expect::yes, .harm_unfenced = Expect::yes};
  const History history = pause_story();
  const Diagnosis finding = check(history);
  cell.tally.add(finding.verdict);
  cell.kept.push_back({1, history, finding});
  return report;
}

// Every tag that is opened is closed, in the right order.
bool balanced(const std::string& text) {
  std::vector<std::string> open;
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) {
    const std::size_t end = text.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = text.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(0, tag.find_first_of(" \n/", 1));
    if (tag[0] == '!' || tag.back() == '/' || name == "meta" || name == "br") continue;
    if (tag[0] != '/') {
      open.push_back(name);
      continue;
    }
    if (open.empty() || "/" + open.back() != tag) return false;
    open.pop_back();
  }
  return open.empty();
}

TEST(ReportTest, TheTimelineShowsWhatHappened) {
  const History history = pause_story();
  const std::string svg = timeline_svg(history, check(history), "one & two");
  EXPECT_TRUE(balanced(svg));
  for (const char* part : {"one &amp; two", "two holders", "lost update", "refused",
                           "killed &amp; gone", "&lt;after&gt;", ">33<", "prefers-color-scheme"}) {
    EXPECT_THAT(svg, HasSubstr(part));
  }
}

TEST(ReportTest, ALongHistoryIsCutAroundTheHarm) {
  History history;
  BootTime now{1s};
  for (int i = 1; i <= 3000; ++i) {
    history.push_back({now += 1ms, "A", EventKind::wrote, "s/none/register", 1, i == 2000 ? 1 : i});
  }
  const std::string svg = timeline_svg(history, check(history), "long");
  EXPECT_LT(svg.size(), 100'000U);
  EXPECT_THAT(svg, HasSubstr("lost update"));
  EXPECT_THAT(svg, HasSubstr("part of a longer run"));
}

TEST(ReportTest, NothingIsDrawnOfNothing) {
  EXPECT_TRUE(balanced(timeline_svg({}, check({}), "empty")));
}

TEST(ReportTest, ThePageNeedsNothingFromOutside) {
  const std::string html = report_html(report());
  EXPECT_TRUE(balanced(html));
  EXPECT_THAT(html, HasSubstr("Holdfast &lt;torture&gt;"));
  for (const char* outside : {"src=", "href=\"http", "@import", "url("}) {
    EXPECT_THAT(html, Not(HasSubstr(outside)));
  }
}

TEST(ReportTest, APartialReportSaysSo) {
  Report partial = report();
  EXPECT_THAT(report_html(partial), Not(HasSubstr("Partial")));
  partial.partial = true;
  EXPECT_THAT(report_html(partial), HasSubstr("Partial"));
  EXPECT_TRUE(nlohmann::json::parse(report_json(partial)).at("partial").get<bool>());
}

TEST(ReportTest, JsonHasTheVerdictsAndTheHistory) {
  const nlohmann::json page = nlohmann::json::parse(report_json(report()));
  const nlohmann::json& cell = page.at("scenarios").at(0).at("engines").at("redis");
  EXPECT_EQ(cell.at("measured"), "V, f S");
  EXPECT_EQ(cell.at("questions").at("harm_fenced").at("yes"), 0);
  EXPECT_EQ(cell.at("kept").at("history").size(), pause_story().size());
  EXPECT_TRUE(page.at("as_expected").get<bool>());
  EXPECT_FALSE(page.at("scenarios").at(0).at("engines").contains("sqlite"));
}

TEST(ReportTest, MarkdownSaysWhereItDiffers) {
  Report changed = report();
  EXPECT_THAT(report_markdown(changed), HasSubstr("| 1 | a pause | V, f S | – |"));
  changed.at("1", "redis").expected = {};
  EXPECT_THAT(report_markdown(changed), HasSubstr("V, f S (expected S)"));
  EXPECT_FALSE(changed.as_expected());
}

// Error texts of servers come into histories, notes and warnings.
TEST(ReportTest, HostileTextIsDataInEveryForm) {
  for (const std::string& text : test::all_hostile()) {
    SCOPED_TRACE(testing::PrintToString(text));
    Report hostile = report();
    hostile.title = hostile.machine = hostile.command = hostile.made_at = text;
    hostile.warnings = {text};
    hostile.rows.front() = {text, text, text, text, text};
    hostile.engines = {text};
    Cell& cell = hostile.at(text, text);
    cell = report().at("1", "redis");
    cell.why = text;
    cell.troubles = cell.notes = {text};
    History& history = cell.kept.front().history;
    for (Event& event : history) {
      event.text = text;
      if (event.who == "C") event.who = text;
    }
    const std::string svg = timeline_svg(history, check(history), text);
    const std::string html = report_html(hostile);
    for (const std::string* markup : {&svg, &html}) {
      EXPECT_TRUE(balanced(*markup));
      EXPECT_TRUE(test::is_harmless(*markup));
      for (const char* act : {"<script>alert", "<img", "onerror=alert(1)>"}) {
        EXPECT_THAT(*markup, Not(HasSubstr(act)));
      }
    }
    const std::string json = report_json(hostile);
    EXPECT_TRUE(test::is_ascii(json)) << json;
    EXPECT_FALSE(nlohmann::json::parse(json, nullptr, false).is_discarded());
    EXPECT_TRUE(test::is_harmless(report_markdown(hostile)));
    EXPECT_THAT(report_markdown(hostile), Not(HasSubstr("<")));
    EXPECT_EQ(parse_event(to_line(history.front()))->at, history.front().at);
    EXPECT_TRUE(test::is_ascii(to_line(history.front())));
  }
}

}  // namespace
}  // namespace holdfast::lab
