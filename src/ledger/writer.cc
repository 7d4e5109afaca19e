#include "ledger/writer.hh"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <stdexcept>

#include "base/number.hh"
#include "base/text.hh"
#include "host/crc32.hh"
#include "ledger/utf8.hh"

namespace furlong::ledger {
namespace {

/// Writes one flat object, fields in the order of the calls.
class Line {
 public:
  explicit Line(std::string_view kind) : text_("{\"kind\": ") { quote(kind); }

  void add(std::string_view name, std::string_view value) {
    begin(name);
    quote(value);
  }
  void add(std::string_view name, std::int64_t value) {
    begin(name);
    fmt::format_to(std::back_inserter(text_), "{}", value);
  }
  void add(std::string_view name, double value) {
    begin(name);
    const std::string number = shortest(value);
    text_ += number;
    // A whole number still reads as a double everywhere.
    if (number.find_first_not_of("-0123456789") == std::string::npos) text_ += ".0";
  }
  /// `|`-joined.
  void add(std::string_view name, const std::vector<std::string>& names) {
    for (const std::string& one : names) {
      if (one.empty() || one.find('|') != std::string::npos) {
        throw std::invalid_argument(
            fmt::format("field {}: bad name {}; a spelling is not empty and holds no |", name,
                        furlong::quoted(one)));
      }
    }
    add(name, std::string_view(join(names, "|")));
  }
  /// With `i` after the name.
  template <class T>
  void add(std::string_view name, std::size_t i, const T& value) {
    add(fmt::format("{}{}", name, i), value);
  }

  std::string finish() && {
    const std::string crc = host::crc32_hex(text_);
    text_ += ", \"crc\": \"";
    text_ += crc;
    text_ += "\"}";
    return std::move(text_);
  }

 private:
  void begin(std::string_view name) {
    text_ += ", ";
    quote(name);
    text_ += ": ";
  }

  void quote(std::string_view value) {
    text_ += '"';
    const std::string clean = valid_utf8(value);
    for (const char c : clean) {
      switch (c) {
        case '"':
          text_ += "\\\"";
          break;
        case '\\':
          text_ += "\\\\";
          break;
        case '\n':
          text_ += "\\n";
          break;
        case '\r':
          text_ += "\\r";
          break;
        case '\t':
          text_ += "\\t";
          break;
        case '\b':
          text_ += "\\b";
          break;
        case '\f':
          text_ += "\\f";
          break;
        default:
          if (static_cast<unsigned char>(c) < 0x20) {
            fmt::format_to(std::back_inserter(text_), "\\u{:04x}", static_cast<unsigned char>(c));
          } else {
            text_ += c;
          }
      }
    }
    text_ += '"';
  }

  std::string text_;
};

}  // namespace

std::string to_line(const Run& run, std::string_view library) {
  Line line("run");
  line.add("format", std::int64_t{1});
  line.add("run_id", std::string_view(run.run_id));
  line.add("dtype", std::string_view(run.dtype));
  line.add("host", std::string_view(run.host));
  line.add("device", std::string_view(run.device));
  line.add("device_name", std::string_view(run.device_name));
  line.add(library, std::string_view(run.commit));
  line.add("argv", std::string_view(run.argv));
  line.add("date", std::string_view(run.date));
  line.add("tier", tier_name(run.tier));
  line.add("keys", std::string_view(run.keys));
  line.add("candidates", run.candidates);
  line.add("env", std::string_view(run.env));
  if (!run.worker.empty()) line.add("worker", std::string_view(run.worker));
  return std::move(line).finish();
}

std::string to_line(const Cell& cell) {
  Line line("cell");
  line.add("run_id", std::string_view(cell.run_id));
  line.add("dtype", std::string_view(cell.dtype));
  line.add("tier", tier_name(cell.tier));
  line.add("key", std::string_view(cell.key));
  line.add("round", std::int64_t{cell.round});
  line.add("date", std::string_view(cell.date));
  line.add("ranked", cell.ranked);
  std::vector<std::string> names;
  for (const Outcome& outcome : cell.outcomes) names.push_back(outcome.candidate);
  line.add("cands", names);
  for (std::size_t i = 0; i < cell.outcomes.size(); ++i) {
    const Outcome& outcome = cell.outcomes[i];
    line.add("h", i, std::string_view(outcome.hash));
    line.add("s", i, status_name(outcome.status));
    line.add("r", i, std::string_view(outcome.reason));
    line.add("m", i, outcome.median_ms);
    line.add("lo", i, outcome.min_ms);
    line.add("hi", i, outcome.max_ms);
    line.add("n", i, std::int64_t{outcome.repetitions});
    line.add("k", i, outcome.calls);
  }
  return std::move(line).finish();
}

std::string to_line(const Audit& audit) {
  Line line("audit");
  line.add("run_id", std::string_view(audit.run_id));
  line.add("dtype", std::string_view(audit.dtype));
  line.add("key", std::string_view(audit.key));
  line.add("what", std::string_view(audit.what));
  line.add("verdict", std::string_view(audit.verdict));
  if (audit.what == "ld") line.add("cand", std::string_view(audit.candidate));
  if (audit.what == "fresh") {
    line.add("warm_ms", audit.warm_ms);
    line.add("fresh_ms", audit.fresh_ms);
  }
  return std::move(line).finish();
}

std::string to_line(const Rehash& rehash) {
  Line line("rehash");
  line.add("family", std::string_view(rehash.family));
  line.add("from", std::string_view(rehash.from));
  line.add("to", std::string_view(rehash.to));
  line.add("at", std::string_view(rehash.at));
  line.add("proof", std::string_view(rehash.proof));
  line.add("why", std::string_view(rehash.why));
  return std::move(line).finish();
}

}  // namespace furlong::ledger
