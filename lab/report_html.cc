#include <algorithm>

#include "lab/markup.h"
#include "lab/report.h"
#include "lab/timeline.h"

namespace holdfast::lab {
namespace {

constexpr const char* kPageStyle = R"(<style>
:root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--ink:#1d2433;--soft:#5d6675;--line:#dbe0e7;
--v:#b42318;--vbg:#fde7e4;--f:#8a5a00;--fbg:#fdf0d3;--s:#146c3d;--sbg:#def3e6;--l:#1f5fbf;--lbg:#e1ecfd;
--q:#4b5563;--qbg:#e6e8ec}
@media (prefers-color-scheme:dark){:root{--bg:#0d1117;--card:#12161d;--ink:#e7ebf2;--soft:#a3adbb;
--line:#2c3440;--v:#ff9a90;--vbg:#4a1c1a;--f:#f3c969;--fbg:#43340f;--s:#7fdca5;--sbg:#123a26;--l:#93bbff;
--lbg:#16305a;--q:#c3cad5;--qbg:#2a313c}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1400px;margin:0 auto;padding:28px 20px 80px}
h1{font-size:26px;margin:0 0 4px}h2{font-size:19px;margin:36px 0 10px}h3{font-size:16px;margin:28px 0 0}
.soft{color:var(--soft)}code{font:13px ui-monospace,monospace;background:var(--qbg);padding:1px 5px;border-radius:4px}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 16px;margin:12px 0}
.warn{border-left:4px solid var(--f)}.bad{border-left:4px solid var(--v)}.ok{border-left:4px solid var(--s)}
.scroll{overflow-x:auto}table{border-collapse:separate;border-spacing:3px;width:100%}
th,td{text-align:left;padding:6px 8px;vertical-align:top}thead th{color:var(--soft);font-weight:600;font-size:13px;white-space:nowrap}
.matrix td.c{border-radius:7px;text-align:center;min-width:66px;white-space:nowrap}
.matrix td.c a{color:inherit;text-decoration:none;display:block}.matrix td.c b{font-size:15px}
.matrix td{vertical-align:middle}.matrix thead th{white-space:normal;vertical-align:bottom}.matrix small{display:block;font-size:11px;opacity:.85}
.matrix td.t{min-width:220px}.matrix td.t a{color:inherit;text-decoration:none}.matrix a:hover{text-decoration:underline}
.matrix th:first-child,.matrix td:first-child{position:sticky;left:0;background:var(--card)}
.V{background:var(--vbg);color:var(--v)}.F{background:var(--fbg);color:var(--f)}.S{background:var(--sbg);color:var(--s)}
.L{background:var(--lbg);color:var(--l)}.Q{background:var(--qbg);color:var(--q)}.N{color:var(--soft)}
.differs{outline:2px solid var(--v);outline-offset:-2px}
.tag{display:inline-block;border-radius:6px;padding:1px 8px;font-weight:600;font-size:13px}
details{background:var(--card);border:1px solid var(--line);border-radius:10px;margin:8px 0;padding:0 16px}
summary{cursor:pointer;padding:10px 0;display:flex;gap:10px;align-items:center;flex-wrap:wrap}
details[open] summary{border-bottom:1px solid var(--line);margin-bottom:10px}
dl{display:grid;grid-template-columns:60px 1fr;gap:2px 12px;margin:8px 0}dt{color:var(--soft)}dd{margin:0}
.facts{font-size:14px;width:auto;border-spacing:0}.facts td,.facts th{padding:1px 14px 1px 0}.facts .yes{color:var(--v);font-weight:600}.facts .maybe{color:var(--soft)}
.key{display:flex;flex-wrap:wrap;gap:4px 18px}@media (max-width:640px){main{padding:16px 10px 60px}body{font-size:14px}.matrix td.t{min-width:150px}.matrix td.c{min-width:64px}}
svg.tl{max-width:none;border-radius:8px}
</style>
)";

// Which color a cell has.
const char* color_of(const std::string& short_form) {
  if (short_form == "S") return "S";
  if (short_form == "L" || short_form == "S/L") return "L";
  if (short_form == "?") return "Q";
  return short_form.ends_with("f S") ? "F" : "V";
}

std::string anchor_of(const std::string& row, const std::string& engine) {
  return escaped("s" + row + "-" + engine);
}

// Of what does not happen in each run: in how many it did.
std::string how_often(const Cell& cell) {
  const Tally& tally = cell.tally;
  for (const Question question :
       {Question::overlap, Question::harm_unfenced, Question::stalled, Question::stranded}) {
    const std::uint64_t yes = tally.yes_of(question);
    if (yes > 0 && yes < tally.runs) {
      return std::to_string(yes) + " of " + std::to_string(tally.runs) + " runs";
    }
  }
  return "";
}

std::string matrix_cell(const Report& report, const Row& row, const std::string& engine) {
  const Cell* cell = report.find(row.id, engine);
  if (cell == nullptr) return "<td class=\"c N\">–</td>";
  if (cell->tally.runs == 0) return "<td class=\"c Q\"><b>not run</b></td>";
  const std::string measured = letters(cell->tally);
  const bool differs = !cell->differences().empty();
  const std::string below = differs ? "expected " + letters(cell->expected) : how_often(*cell);
  return "<td class=\"c " + std::string(color_of(measured)) + (differs ? " differs" : "") +
         "\"><a href=\"#" + anchor_of(row.id, engine) + "\"><b>" + escaped(measured) + "</b>" +
         (below.empty() ? "" : "<small>" + escaped(below) + "</small>") + "</a></td>";
}

std::string matrix(const Report& report) {
  std::string html =
      "<div class=\"card scroll\"><table class=\"matrix\"><thead><tr><th>#</th><th>scenario</th>";
  for (const std::string& engine : report.engines) html += "<th>" + escaped(engine) + "</th>";
  html += "</tr></thead><tbody>\n";
  for (const Row& row : report.rows) {
    html += "<tr><td>" + escaped(row.id) + "</td><td class=\"t\"><a href=\"#s" + escaped(row.id) +
            "\">" + escaped(row.title) + "</a></td>";
    for (const std::string& engine : report.engines) html += matrix_cell(report, row, engine);
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string legend() {
  std::string html = "<p class=\"soft key\">";
  const auto add = [&](const char* color, const char* letters, const char* words) {
    html += std::string("<span><span class=\"tag ") + color + "\">" + letters + "</span> " + words +
            "</span>";
  };
  add("S", "S", "safe: no violation seen");
  add("L", "L", "safe, but nobody gets the lock while the fault lasts");
  add("F", "V, f S",
      "two holders or a lost update; no lost update with a fence on reads and writes");
  add("V", "V, f V", "a lost update with that fence as well");
  add("V", "V", "two holders or a lost update, of a recipe without tokens");
  add("Q", "?", "unknown");
  add("N", "–", "does not apply");
  return html + "<span>A red frame: other than expected.</span></p>\n";
}

std::string expect_text(Expect expect) {
  return expect == Expect::no ? "no" : expect == Expect::yes ? "yes" : "may happen";
}

std::string list_of(const std::vector<std::string>& lines) {
  std::string html;
  for (const std::string& text : lines) html += "<li>" + escaped(text) + "</li>";
  return html.empty() ? "" : "<ul>" + html + "</ul>\n";
}

std::string questions(const Cell& cell) {
  std::string html =
      "<div class=\"scroll\"><table "
      "class=\"facts\"><tr><th></th><th>expected</th><th>measured</th></tr>";
  for (const Question question : kQuestions) {
    const bool yes = cell.tally.yes_of(question) > 0;
    const bool known = cell.tally.unknown_of(question) < cell.tally.runs;
    html += "<tr><td>" + std::string(question_title(question)) + "</td><td>" +
            expect_text(cell.expected[question]) + "</td><td class=\"" +
            (yes     ? "yes"
             : known ? "no"
                     : "maybe") +
            "\">" + escaped(cell.tally.text(question)) + "</td></tr>";
  }
  return html + "</table></div>\n";
}

std::string one_engine(const Row& row, const std::string& engine, const Cell& cell, bool open) {
  const std::string measured = letters(cell.tally);
  std::string html =
      "<details id=\"" + anchor_of(row.id, engine) + "\"" + (open ? " open" : "") +
      "><summary><span class=\"tag " + color_of(measured) + "\">" + escaped(measured) +
      "</span><b>" + escaped(engine) + "</b>" +
      (cell.differences().empty() ? "" : " <span class=\"tag V\">not as expected</span>") +
      "</summary>\n";
  if (!cell.why.empty()) html += "<p>" + escaped(cell.why) + "</p>\n";
  // The picture first: it says most of it.
  for (const KeptRun& run : cell.kept) {
    html += "<div class=\"scroll\">" +
            timeline_svg(
                run.history, run.finding,
                "scenario " + row.id + " on " + engine + ", run " + std::to_string(run.number)) +
            "</div>\n";
  }
  html +=
      questions(cell) + list_of(cell.differences()) + list_of(cell.notes) + list_of(cell.troubles);
  return html + "</details>\n";
}

std::string section(const Report& report, const Row& row, bool& opened) {
  std::string html;
  for (const std::string& engine : report.engines) {
    const Cell* cell = report.find(row.id, engine);
    if (cell == nullptr || cell->tally.runs == 0) continue;
    // One of them is open from the beginning: the first in which the fence makes the difference.
    const bool open = !opened && std::string(color_of(letters(cell->tally))) == "F";
    opened = opened || open;
    html += one_engine(row, engine, *cell, open);
  }
  if (html.empty()) return "";
  return "<h3 id=\"s" + escaped(row.id) + "\">" + escaped(row.id + " · " + row.title) +
         "</h3>\n<dl><dt>given</dt><dd>" + escaped(row.given) + "</dd><dt>when</dt><dd>" +
         escaped(row.when) + "</dd><dt>then</dt><dd>" + escaped(row.then) + "</dd></dl>\n" + html;
}

std::string runs_text(std::uint64_t runs) {
  return std::to_string(runs) + (runs == 1 ? " run" : " runs");
}

}  // namespace

std::string report_html(const Report& report) {
  std::string html =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>" +
      escaped(report.title) + "</title>\n" + kPageStyle + "</head><body><main>\n<h1>" +
      escaped(report.title) + "</h1>\n<p class=\"soft\">" + escaped(report.made_at) + " · " +
      escaped(report.machine) + "<br>made by <code>" + escaped(report.command) + "</code></p>\n";
  if (report.partial) {
    html +=
        "<div class=\"card warn\"><b>Partial.</b> It was ended before all runs were made; "
        "what is here was measured.</div>\n";
  }
  const std::uint64_t runs = report.sum().runs;
  html += report.as_expected() ? "<div class=\"card ok\">Every verdict of " + runs_text(runs) +
                                     " is as expected.</div>\n"
                               : "<div class=\"card bad\">Some verdicts of " + runs_text(runs) +
                                     " are other than expected: they have a red frame.</div>\n";
  for (const std::string& warning : report.warnings) {
    html += "<div class=\"card warn\">" + escaped(warning) + "</div>\n";
  }
  html += "<h2>Verdicts</h2>\n" + matrix(report) + legend() + "<h2>Runs</h2>\n";
  bool opened = false;
  for (const Row& row : report.rows) html += section(report, row, opened);
  // A link from the matrix opens what it leads to.
  html +=
      "<script>function show(){const d=document.getElementById(location.hash.slice(1));"
      "if(d){if(d.tagName=='DETAILS')d.open=true;d.scrollIntoView()}}addEventListener('hashchange',"
      "show);show()</script>\n";
  return html + "</main></body></html>\n";
}

}  // namespace holdfast::lab
