// Text tables for people: columns padded to their widest value.
#pragma once

#include <string>
#include <vector>

namespace furlong::report {

enum class Align { kLeft, kRight };

class TextTable {
 public:
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };
  explicit TextTable(std::vector<Column> columns);

  /// `cells` has one text per column.
  void add(std::vector<std::string> cells);
  std::size_t rows() const { return rows_.size(); }
  /// Title line, then the rows; two spaces between columns, no trailing blanks, `\n` ended.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace furlong::report
