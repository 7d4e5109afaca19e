#include "ledger/rehash.hh"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/text.hh"
#include "furlong/error.hh"
#include "host/sha256.hh"
#include "ledger/include_scan.hh"
#include "ledger/kernel_hash.hh"

namespace furlong::ledger {
namespace {

namespace fs = std::filesystem;

std::string short_commit(const std::string& commit) {
  return commit.substr(0, 8);
}

/// A hash that cells of clean runs hold.
struct StoredHash {
  NameId family = 0;
  NameId hash = 0;
  std::set<std::string> commits;  ///< of the runs that produced it, as their run lines spell them
};

std::vector<StoredHash> stored_hashes(const Ledger& ledger) {
  std::vector<StoredHash> found;
  std::map<std::pair<NameId, NameId>, std::size_t> index;
  for (const StoredCell& cell : ledger.cells()) {
    const std::string& commit = ledger.runs()[static_cast<std::size_t>(cell.run)].run.commit;
    for (const StoredOutcome& outcome : ledger.outcomes(cell)) {
      if (ledger.text(outcome.hash).empty()) continue;
      const auto [at, added] = index.emplace(std::pair(outcome.family, outcome.hash), found.size());
      if (added) found.push_back({outcome.family, outcome.hash, {}});
      found[at->second].commits.insert(commit);
    }
  }
  return found;
}

/// The files of a project's folder at one commit; what was read is kept.
class Sources {
 public:
  Sources(const host::GitHistory& history, std::string commit)
      : history_(history), commit_(std::move(commit)) {}

  const std::string& commit() const { return commit_; }

  bool has(const std::string& path) {
    const auto at = there_.find(path);
    if (at != there_.end()) return at->second;
    return there_.emplace(path, history_.has_file(commit_, path)).first->second;
  }

  /// Null when the commit lacks it.
  const std::string* file(const std::string& path) {
    auto at = files_.find(path);
    if (at == files_.end()) at = files_.emplace(path, history_.file(commit_, path)).first;
    return at->second ? &*at->second : nullptr;
  }

  /// Throws Error naming a path that the commit lacks.
  ReadSource reader() {
    return [this](const std::string& path) {
      const std::string* bytes = file(path);
      if (bytes == nullptr) {
        throw Error(path, "is not there at commit " + short_commit(commit_));
      }
      return *bytes;
    };
  }

 private:
  const host::GitHistory& history_;
  std::string commit_;
  std::map<std::string, bool> there_;
  std::map<std::string, std::optional<std::string>> files_;
};

/// What all proofs compare with: the sources of HEAD, which are those of the working tree.
class Today {
 public:
  Today(const Ledger& ledger, const Project& project, const std::string& op,
        const host::GitHistory& history)
      : spec_path_(fs::path(project.spec_path(op)).lexically_normal().generic_string()),
        sources_(history, history.head()) {
    const std::string* spec = sources_.file(spec_path_);
    if (spec == nullptr) {
      throw Error(spec_path_, "is not in the commit that is checked out; commit the op's spec");
    }
    refuse_uncommitted(history, {spec_path_});
    lists_ = parse_source_lists(*spec, spec_path_);
    std::vector<std::string> families;
    for (const StoredHash& stored : stored_hashes(ledger)) {
      families.emplace_back(ledger.text(stored.family));
    }
    std::vector<std::string> paths = lists_.all;
    for (const auto& family : lists_.families) {
      const auto files = lists_.files_of(family.name);
      paths.insert(paths.end(), files.begin(), files.end());
    }
    refuse_uncommitted(history, paths);
    hashes_ = hash_sources(lists_, families, sources_.reader());
  }

  const std::string& spec_path() const { return spec_path_; }
  Sources& sources() { return sources_; }
  const SourceLists& lists() const { return lists_; }
  const std::string& hash(std::string_view family) const { return *hashes_.find(family); }
  HashesNow hashes() {
    return [this](const std::vector<std::string>& families) {
      return hash_sources(lists_, families, sources_.reader());
    };
  }

 private:
  static void refuse_uncommitted(const host::GitHistory& history,
                                 const std::vector<std::string>& paths) {
    const auto differing = history.uncommitted(paths);
    if (differing.empty()) return;
    throw Error(differing.front(),
                "has uncommitted changes; a proof compares commits, so commit or undo them");
  }

  std::string spec_path_;
  Sources sources_;
  SourceLists lists_;
  KernelHashes hashes_;
};

/// An expected no of a proof.
using Reason = std::string;

/// Why the v1 hash at one commit proves nothing; empty when it does.
Reason normalized_refusal(const std::string& family, std::string_view stored,
                          const std::string& named, Today& today, const host::GitHistory& history) {
  const auto commit = history.commit(named);
  if (!commit) return fmt::format("commit {} of a run is not in the repository", quoted(named));
  Sources then(history, *commit);
  const std::string* spec = then.file(today.spec_path());
  if (spec == nullptr) return fmt::format("{} is not there at {}", today.spec_path(), named);
  const auto files = parse_source_lists(*spec, today.spec_path()).files_of(family);
  const auto reader = then.reader();
  const std::string v1 = hash_list_v1(files, reader);
  if (v1 != stored) {
    return fmt::format("the v1 hash of its sources at {} is {}{}", named, v1,
                       hash_list(files, reader) == stored
                           ? ", the stored one is their hash v2: the kernels were edited since"
                           : "");
  }
  if (files != today.lists().files_of(family)) {
    return fmt::format("its source list at {} is not today's", named);
  }
  for (const std::string& file : files) {
    if (normalized(reader(file)) != normalized(today.sources().reader()(file))) {
      return fmt::format("{} was edited since {}", file, named);
    }
  }
  return {};
}

/// How includes are looked up at one commit.
class Resolver {
 public:
  Resolver(Sources& sources, const Project& project) : sources_(sources) {
    roots_.push_back(".");
    for (const std::string& root : project.include) roots_.push_back(root);
  }

  struct Found {
    std::string path;     ///< empty: no file of the project
    bool leaves = false;  ///< a look-up went outside the project
  };

  Found find(const Include& include, const std::string& in_file) {
    std::vector<fs::path> folders;
    if (!include.angled) folders.push_back(fs::path(in_file).parent_path());
    for (const auto& root : roots_) folders.emplace_back(root);
    Found found;
    for (const fs::path& folder : folders) {
      const fs::path path = (folder / include.name).lexically_normal();
      if (path.empty() || *path.begin() == "..") {
        found.leaves = true;
        return found;
      }
      const std::string text = path.generic_string();
      if (sources_.has(text)) {
        found.path = text;
        return found;
      }
    }
    return found;
  }

 private:
  Sources& sources_;
  std::vector<std::string> roots_;
};

/// A source with every include replaced by the path that it reaches, normalized.
struct Canonical {
  std::string text;
  std::vector<std::string> includes;
  Reason refusal;  ///< not empty: no proof
};

template <class Map>
Canonical canonical(const std::string& bytes, const std::string& path, Resolver& resolver,
                    const Map& renamed) {
  Canonical result;
  const IncludeScan scan = scan_includes(bytes);
  if (!scan.unmodelled.empty()) {
    result.refusal = fmt::format("{}:{}, which is not modelled", path, scan.unmodelled);
    return result;
  }
  std::string replaced;
  std::size_t at = 0;
  for (const Include& include : scan.includes) {
    const auto found = resolver.find(include, path);
    if (found.leaves) {
      result.refusal = fmt::format("{}: an include of {} leaves the project, which is not modelled",
                                   path, include.name);
      return result;
    }
    replaced.append(bytes, at, include.begin - at);
    // A byte that no source holds by accident marks files of the project.
    const std::string target = found.path.empty()
                                   ? bytes.substr(include.begin, include.end - include.begin)
                                   : "\x01" + renamed(found.path) + "\x01";
    replaced += target;
    result.includes.push_back(target);
    at = include.end;
  }
  replaced.append(bytes, at);
  result.text = normalized(replaced);
  return result;
}

/// The base commit of a `moved` proof, and what became of its files.
class Base {
 public:
  Base(const std::string& commit, const Project& project, const std::string& op, Today& today,
       const host::GitHistory& history)
      : sources_(history, commit),
        renames_(history.renames(commit, today.sources().commit())),
        project_(project) {
    constexpr const char* kProject = "furlong.toml";
    if (const std::string* text = sources_.file(kProject)) {
      project_ = Project::parse(*text, fmt::format("{} at {}", kProject, short_commit(commit)));
    }
    std::string spec_path = fs::path(project_.spec_path(op)).lexically_normal().generic_string();
    if (!sources_.has(spec_path)) {
      for (const auto& [from, to] : renames_) {
        if (to == today.spec_path()) spec_path = from;
      }
    }
    const std::string* spec = sources_.file(spec_path);
    if (spec == nullptr) {
      throw Error(spec_path, fmt::format("is not there at {}; the base must be a commit that has "
                                         "the op's spec",
                                         short_commit(commit)));
    }
    lists_ = parse_source_lists(*spec, fmt::format("{} at {}", spec_path, short_commit(commit)));
  }

  Sources& sources() { return sources_; }
  const SourceLists& lists() const { return lists_; }
  const Project& project() const { return project_; }
  std::string renamed(const std::string& path) const {
    const auto at = renames_.find(path);
    return at == renames_.end() ? path : at->second;
  }

 private:
  Sources sources_;
  std::map<std::string, std::string> renames_;
  Project project_;
  SourceLists lists_;
};

struct MovedProof {
  Reason refusal;
  int moved = 0;
};

MovedProof moved_proof(const std::string& family, const Project& project, Base& base,
                       Today& today) {
  MovedProof proof;
  const auto before = base.lists().files_of(family);
  const auto after = today.lists().files_of(family);
  if (before.size() != after.size()) {
    proof.refusal =
        fmt::format("its source list has {} files, {} at the base", after.size(), before.size());
    return proof;
  }
  Resolver old_includes(base.sources(), base.project());
  Resolver new_includes(today.sources(), project);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] != after[i]) {
      if (base.renamed(before[i]) != after[i]) {
        proof.refusal = fmt::format(
            "{} stands where the base lists {}, and git sees no rename "
            "between them",
            after[i], before[i]);
        return proof;
      }
      if (fs::path(before[i]).filename() != fs::path(after[i]).filename()) {
        proof.refusal = fmt::format("{} became {}: the file name changed", before[i], after[i]);
        return proof;
      }
      ++proof.moved;
    }
    const auto old_text = canonical(base.sources().reader()(before[i]), before[i], old_includes,
                                    [&](const std::string& path) { return base.renamed(path); });
    const auto new_text = canonical(today.sources().reader()(after[i]), after[i], new_includes,
                                    [](const std::string& path) { return path; });
    for (const auto* one : {&old_text, &new_text}) {
      if (!one->refusal.empty()) {
        proof.refusal = one->refusal;
        return proof;
      }
    }
    if (old_text.includes != new_text.includes) {
      proof.refusal = fmt::format("{}: an include reaches another file than at the base", after[i]);
      return proof;
    }
    if (old_text.text != new_text.text) {
      proof.refusal = fmt::format("{}: was edited since the base", after[i]);
      return proof;
    }
  }
  return proof;
}

}  // namespace

std::string hash_list_v1(const std::vector<std::string>& paths, const ReadSource& read) {
  std::string manifest;
  for (const std::string& path : paths) {
    manifest += fmt::format("{}  {}\n", host::sha256_hex(read(path)), path);
  }
  return host::sha256_hex(manifest).substr(0, 8);
}

RehashPlan prove_normalized(const Ledger& ledger, const Project& project, const std::string& op,
                            const host::GitHistory& history) {
  Today today(ledger, project, op, history);
  RehashPlan plan;
  for (const StoredHash& stored : stored_hashes(ledger)) {
    const std::string family(ledger.text(stored.family));
    const std::string hash(ledger.text(stored.hash));
    const std::string& now = today.hash(family);
    const NameId effective = ledger.effective(stored.family, stored.hash);
    if (ledger.text(effective) == now) continue;
    Reason reason;
    if (effective != stored.hash) {
      reason = fmt::format("an earlier rehash line reads it as {}", ledger.text(effective));
    }
    for (const std::string& commit : stored.commits) {
      if (!reason.empty()) break;
      try {
        reason = normalized_refusal(family, hash, commit, today, history);
      } catch (const Error& error) {
        reason = error.what();
      }
    }
    if (!reason.empty()) {
      plan.refused.push_back({family, hash, std::move(reason)});
      continue;
    }
    plan.lines.push_back(
        {family, hash, now, short_commit(today.sources().commit()), "normalized",
         fmt::format("hash v1 checked at {} commits, equal modulo comments and whitespace",
                     stored.commits.size())});
  }
  return plan;
}

RehashPlan prove_moved(const Ledger& ledger, const Project& project, const std::string& op,
                       const host::GitHistory& history, const std::string& base_name) {
  const auto commit = history.commit(base_name);
  if (!commit) {
    throw Error(project.root.string(),
                fmt::format("{} is no commit of its repository; a commit id, branch or tag is "
                            "allowed",
                            quoted(base_name)));
  }
  Today today(ledger, project, op, history);
  Base base(*commit, project, op, today, history);
  std::vector<std::string> families;
  for (const StoredHash& stored : stored_hashes(ledger)) {
    families.emplace_back(ledger.text(stored.family));
  }
  const auto hashes = hash_sources(base.lists(), families, base.sources().reader());
  RehashPlan plan;
  std::set<std::pair<std::string, std::string>> seen;
  for (const StoredHash& stored : stored_hashes(ledger)) {
    const std::string family(ledger.text(stored.family));
    // Earlier lines are walked first, so a new line must start from what they lead to.
    const std::string from(ledger.text(ledger.effective(stored.family, stored.hash)));
    const std::string& now = today.hash(family);
    if (from == now || from != *hashes.find(family)) continue;
    if (!seen.emplace(family, from).second) continue;
    const auto proof = moved_proof(family, project, base, today);
    if (!proof.refusal.empty()) {
      plan.refused.push_back({family, from, proof.refusal});
      continue;
    }
    plan.lines.push_back(
        {family, from, now, short_commit(today.sources().commit()),
         "moved:" + short_commit(*commit),
         fmt::format("{} files moved, equal modulo comments, whitespace and include paths",
                     proof.moved)});
  }
  return plan;
}

SampleVerdict prove_sample(const Ledger& ledger, const Project& project, const std::string& op,
                           const host::GitHistory& history, const std::string& run_id,
                           const std::vector<std::string>& families) {
  Today today(ledger, project, op, history);
  return judge_sample(ledger, project.dtypes, today.hashes(), run_id, families,
                      short_commit(today.sources().commit()));
}

}  // namespace furlong::ledger
