// TimelinePlan: which events of a history are drawn, and at which x.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lab/checker.h"
#include "lab/history.h"

namespace holdfast::lab {

class TimelinePlan {
 public:
  TimelinePlan(const History& history, const Diagnosis& finding, std::size_t max_events);

  const std::vector<Event>& events() const { return events_; }
  const std::vector<std::string>& lanes() const { return lanes_; }  // clients, as they appear
  const std::string& sheet() const { return sheet_; }
  bool cut() const { return cut_; }

  double x_of(BootTime moment) const;  // also between events
  double width() const { return columns_.empty() ? 0 : columns_.rbegin()->second; }
  // Moments that have a figure below the axis.
  std::vector<BootTime> ticks() const;
  BootTime begin() const { return columns_.begin()->first; }
  BootTime end() const { return columns_.rbegin()->first; }
  bool empty() const { return events_.empty(); }

 private:
  void choose_sheet(const History& history, const Diagnosis& finding);
  bool is_drawn(const Event& event) const;
  void cut_to(std::size_t max_events, const Diagnosis& finding);
  void lay_out();

  std::string sheet_;
  std::vector<Event> events_;
  std::vector<std::string> lanes_;
  std::map<BootTime, double> columns_;
  bool cut_ = false;
};

}  // namespace holdfast::lab
