// Report: what a series of experiments came to, for people (a page, a table) and for programs.
//
// The matrix has a row for each scenario and a column for each engine; a cell says what was
// measured, in how many runs, and what was expected.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lab/checker.h"
#include "lab/history.h"
#include "lab/verdict.h"

namespace holdfast::lab {

// The subject of a row of the matrix.
struct Row {
  std::string id;     // "4"
  std::string title;  // "a clock jumps ahead"
  std::string given;
  std::string when;
  std::string then;
};

// One run that is kept to be looked at: the first that did harm, else the first.
struct KeptRun {
  std::uint64_t number = 0;  // of its cell, from 1
  History history;
  Diagnosis finding;
};

struct Cell {
  Expected expected;
  std::string why;  // what is particular about this engine here
  Tally tally;
  std::vector<std::string> troubles;  // runs that could not be brought to their end
  std::vector<std::string> notes;     // what was measured beside the verdict
  std::vector<KeptRun> kept;          // at most one
  bool wanted = true;                 // false: not run, e.g. because of Ctrl-C

  std::vector<std::string> differences() const { return lab::differences(expected, tally); }
};

class Report {
 public:
  std::string title;
  std::string command;   // that makes it again
  std::string made_at;   // "2026-11-16 08:30 UTC"
  std::string machine;   // processors, kernel, versions of the servers
  bool partial = false;  // it was ended before its end
  bool pairs = false;    // rows are pairs of faults, whose names say all
  std::vector<std::string> warnings;
  std::vector<Row> rows;
  std::vector<std::string> engines;

  Cell& at(const std::string& row, const std::string& engine) { return cells_[{row, engine}]; }
  // Null: the scenario has no meaning there.
  const Cell* find(const std::string& row, const std::string& engine) const;
  const std::map<std::pair<std::string, std::string>, Cell>& cells() const { return cells_; }

  bool as_expected() const;  // every cell
  Tally sum() const;         // of all cells

 private:
  std::map<std::pair<std::string, std::string>, Cell> cells_;
};

std::string report_html(const Report& report);      // a whole page, without outside resources
std::string report_json(const Report& report);      // with the kept histories
std::string report_markdown(const Report& report);  // the matrix

}  // namespace holdfast::lab
