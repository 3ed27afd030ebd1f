#include "lab/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "holdfast/text.h"

namespace holdfast::lab {
namespace {

using Json = nlohmann::ordered_json;

const char* expect_name(Expect expect) {
  switch (expect) {
    case Expect::no: return "no";
    case Expect::yes: return "yes";
    case Expect::may: return "may";
  }
  return "?";
}

Json to_json(const Cell& cell) {
  Json questions = Json::object();
  for (const Question question : kQuestions) {
    questions[question_name(question)] = {{"expected", expect_name(cell.expected[question])},
                                          {"yes", cell.tally.yes_of(question)},
                                          {"unknown", cell.tally.unknown_of(question)},
                                          {"text", cell.tally.text(question)}};
  }
  Json result = {{"expected", letters(cell.expected)},
                 {"measured", cell.tally.runs > 0 ? letters(cell.tally) : ""},
                 {"runs", cell.tally.runs},
                 {"questions", questions},
                 {"differences", cell.differences()},
                 {"why", cell.why},
                 {"notes", cell.notes},
                 {"troubles", cell.troubles}};
  for (const KeptRun& run : cell.kept) {
    Json events = Json::array();
    for (const Event& event : run.history) events.push_back(Json::parse(to_line(event)));
    result["kept"] = {{"run", run.number}, {"history", events}};
  }
  return result;
}

// The gate to a cell of a Markdown table.
std::string markdown_cell(const std::string& text) {
  std::string cell;
  for (const char c : printable(text)) {
    if (c == '<') {
      cell += "&lt;";
    } else {
      if (c == '|' || c == '`') cell += '\\';
      cell += c;
    }
  }
  return cell;
}

}  // namespace

const Cell* Report::find(const std::string& row, const std::string& engine) const {
  const auto cell = cells_.find({row, engine});
  return cell == cells_.end() ? nullptr : &cell->second;
}

bool Report::as_expected() const {
  return std::ranges::all_of(cells_,
                             [](const auto& cell) { return cell.second.differences().empty(); });
}

Tally Report::sum() const {
  Tally sum;
  for (const auto& [place, cell] : cells_) sum.add(cell.tally);
  return sum;
}

std::string report_json(const Report& report) {
  Json rows = Json::array();
  for (const Row& row : report.rows) {
    Json cells = Json::object();
    for (const std::string& engine : report.engines) {
      if (const Cell* cell = report.find(row.id, engine)) cells[engine] = to_json(*cell);
    }
    rows.push_back({{"scenario", row.id},
                    {"title", row.title},
                    {"given", row.given},
                    {"when", row.when},
                    {"then", row.then},
                    {"engines", cells}});
  }
  const Json page = {{"title", report.title},     {"command", report.command},
                     {"made_at", report.made_at}, {"machine", report.machine},
                     {"partial", report.partial}, {"as_expected", report.as_expected()},
                     {"runs", report.sum().runs}, {"warnings", report.warnings},
                     {"scenarios", rows}};
  return page.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

std::string report_markdown(const Report& report) {
  std::string text = report.pairs ? "| faults |" : "| # | scenario |";
  std::string rule = report.pairs ? "| --- |" : "| --- | --- |";
  for (const std::string& engine : report.engines) {
    text += " " + markdown_cell(engine) + " |";
    rule += " --- |";
  }
  text += "\n" + rule + "\n";
  for (const Row& row : report.rows) {
    text += "| " + markdown_cell(row.id) + " |";
    if (!report.pairs) text += " " + markdown_cell(row.title) + " |";
    for (const std::string& engine : report.engines) {
      const Cell* cell = report.find(row.id, engine);
      std::string words = " –";
      if (cell != nullptr && cell->tally.runs > 0) {
        words = " " + letters(cell->tally);
        if (!cell->differences().empty()) words += " (expected " + letters(cell->expected) + ")";
      }
      text += words + " |";
    }
    text += "\n";
  }
  return text;
}

}  // namespace holdfast::lab
