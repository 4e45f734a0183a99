#include "cases.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

namespace bench {
namespace {

using nlohmann::json;

[[noreturn]] void die(const std::string &message) {
  std::fprintf(stderr, "bench: %s\n", message.c_str());
  std::exit(2);
}

int64_t product(const std::vector<int64_t> &extents) {
  int64_t n = 1;
  for (int64_t e : extents) n *= e;
  return n;
}

View view_of(const json &j) {
  View v;
  v.shape = (j.is_array() ? j : j.at("shape")).get<std::vector<int64_t>>();
  if (j.is_object() && j.contains("strides")) v.strides = j["strides"].get<std::vector<int64_t>>();
  if (j.is_object() && j.contains("offset")) v.offset = j["offset"].get<int64_t>();
  if (v.strides.empty()) {
    for (int64_t stride = 1; int64_t e : v.shape) v.strides.push_back(stride), stride *= e;
  }
  v.span = v.offset + 1;
  for (size_t k = 0; k < v.shape.size(); k++) v.span += (v.shape[k] - 1) * v.strides[k];
  return v;
}

Case case_of(const json &j) {
  Case c;
  c.family = j.at("family"), c.name = j.at("case"), c.dtype = j.at("dtype"), c.expr = j.at("expr");
  c.out = j.value("out", c.dtype), c.data = j.value("data", "");
  c.shape = j.at("shape").get<std::vector<int64_t>>();
  c.dims = j.at("dims").get<std::vector<int>>();
  c.groups = j.at("groups").get<std::vector<std::string>>();
  for (const json &input : j.at("inputs")) c.inputs.push_back(view_of(input));
  json into = j.value("into", json::object());
  into["shape"] = c.out_shape();
  c.into = view_of(into);
  return c;
}

// One of wanted equals one of have, or wanted is empty.
bool meets(const std::vector<std::string> &wanted, const std::vector<std::string> &have) {
  return wanted.empty() || std::any_of(wanted.begin(), wanted.end(), [&](const std::string &w) {
           return std::find(have.begin(), have.end(), w) != have.end();
         });
}

bool is_selected(const Case &c, const Options &o) {
  bool named = o.names.empty() || std::any_of(o.names.begin(), o.names.end(), [&](const std::string &n) {
                 return c.name.find(n) != std::string::npos;
               });
  return named && meets(o.groups, c.groups) && meets(o.dtypes, {c.dtype}) && meets(o.families, {c.family});
}

json number_or_null(double x) { return x >= 0 && std::isfinite(x) ? json(x) : json(); }

}  // namespace

int64_t View::elements() const { return product(shape); }

int64_t View::at(int64_t n) const {
  int64_t place = offset;
  for (size_t k = 0; k < shape.size(); n /= shape[k++]) place += n % shape[k] * strides[k];
  return place;
}

std::vector<int64_t> Case::out_shape() const {
  std::vector<int64_t> s = shape;
  if (family == "reduce" || family == "segmented_reduce" || family == "gemv") {
    for (int d : dims) s.at(d - 1) = 1;
  }
  return s;
}

int64_t Case::elements() const { return product(shape); }

int64_t Case::fold_length() const {
  int64_t n = 1;
  for (int d : dims) n *= shape.at(d - 1);
  return n;
}

int64_t Case::results() const { return family == "broadcast" ? 1 + std::count(expr.begin(), expr.end(), ',') : 1; }

int64_t Case::bytes() const {
  int64_t n = results() * product(out_shape()) * dtype_bytes(out);
  for (const View &v : inputs) n += v.elements() * dtype_bytes(dtype);
  return n;
}

Options parse_options(int argc, char **argv) {
  Options o;
  for (int i = 1; i < argc; i++) {
    std::string a = argv[i];
    auto value = [&]() -> std::string {
      if (++i == argc) die(a + " needs a value");
      return argv[i];
    };
    if (a == "--cases")
      o.cases = value();
    else if (a == "--out")
      o.out = value();
    else if (a == "--device")
      o.device = value();
    else if (a == "--kernel")
      o.kernels.push_back(value());
    else if (a == "--group")
      o.groups.push_back(value());
    else if (a == "--case")
      o.names.push_back(value());
    else if (a == "--dtype")
      o.dtypes.push_back(value());
    else if (a == "--family")
      o.families.push_back(value());
    else if (a == "--budget")
      o.budget = std::atof(value().c_str());
    else if (a == "--quick")
      o.quick = true;
    else if (a == "--energy") {
      o.energy = value();
      if (o.energy != "all" && o.energy != "none") die("--energy takes 'all' or 'none'");
    }
    else if (a == "--all-kernels")
      o.all_kernels = true;
    else if (a == "--once")
      o.once = true;
    else if (a == "--plan-only") {
      if (std::sscanf(value().c_str(), "%d/%d", &o.part, &o.parts) != 2 || o.part < 0 || o.part >= o.parts) die("--plan-only takes K/N");
    }
    else
      die("unknown argument '" + a +
          "': takes --device, --cases, --out, --group, --case, --dtype, --family, --kernel, "
          "--all-kernels, --once, --plan-only K/N, --budget SECONDS, --energy all|none, --quick");
  }
  return o;
}

std::vector<Case> load_cases(const Options &options) {
  std::ifstream file(options.cases);
  if (!file) die("cannot read " + options.cases);
  std::vector<Case> cases;
  try {
    const json list = json::parse(file).at("cases");
    for (const json &j : list) {
      Case c = case_of(j);
      if (is_selected(c, options)) cases.push_back(std::move(c));
    }
  } catch (const std::exception &e) {
    die(options.cases + ": " + e.what());
  }
  if (cases.empty()) std::fprintf(stderr, "bench: no case of %s is selected\n", options.cases.c_str());
  return cases;
}

int64_t dtype_bytes(const std::string &dtype) {
  static const std::map<std::string, int64_t> bytes = {
      {"bool", 1}, {"i8", 1},  {"i16", 2},  {"i32", 4}, {"i64", 8}, {"u8", 1},  {"u16", 2},
      {"u32", 4},  {"u64", 8}, {"bf16", 2}, {"f16", 2}, {"f32", 4}, {"f64", 8}, {"f8e4m3", 1}, {"f8e5m2", 1},
  };
  auto found = bytes.find(dtype);
  return found == bytes.end() ? 0 : found->second;
}

RowFile::RowFile(const std::string &path) {
  if (path.empty()) return;
  file_.open(path);
  if (!file_) die("cannot write " + path);
}

void RowFile::line(const std::string &text) {
  std::ostream &out = file_.is_open() ? static_cast<std::ostream &>(file_) : std::cout;
  out << text << std::endl;
}

void RowFile::meta(const std::string &key, const std::string &value) {
  line(json{{"meta", key}, {"value", value}}.dump());
}

void RowFile::row(const Case &c, const Row &r) {
  json j = {{"family", c.family}, {"case", c.name}, {"shape", c.shape}, {"dims", c.dims},
            {"dtype", c.dtype},   {"expr", c.expr}, {"who", r.who},     {"bytes", c.bytes()}};
  j["kernel"] = r.kernel.empty() ? json() : json(r.kernel);
  j["us"] = number_or_null(r.us);
  j["us_min"] = number_or_null(r.us_min);
  j["us_spread"] = number_or_null(r.us_spread);
  j["host_us"] = number_or_null(r.host_us);
  j["graph_us"] = number_or_null(r.graph_us);
  j["graph_cached_us"] = number_or_null(r.graph_cached_us);
  j["joule"] = number_or_null(r.joule);
  if (r.idle_watts >= 0) j["idle_watts"] = r.idle_watts;
  j["correct"] = r.correct < 0 ? json() : json(r.correct == 1);
  j["error"] = number_or_null(r.error);
  if (r.error_over_magnitudes >= 0) j["error_over_magnitudes"] = r.error_over_magnitudes;
  j["method"] = r.method;
  if (r.pinned) j["pinned"] = true;
  if (!r.measured.empty()) j["measured"] = r.measured;
  if (r.mark > 0) j["mark"] = r.mark;
  if (!c.data.empty()) j["data"] = c.data;
  if (!r.note.empty()) j["note"] = r.note;
  line(j.dump());
}

int64_t rotation(int64_t bytes_per_set, int64_t cache_bytes) {
  int64_t sets = (4 * cache_bytes + bytes_per_set - 1) / std::max<int64_t>(bytes_per_set, 1);
  return std::clamp<int64_t>(sets, 1, 4096);
}

void summarize(std::vector<double> t, Row *row) {
  std::sort(t.begin(), t.end());
  auto quantile = [&](double q) { return t[std::min(t.size() - 1, static_cast<size_t>(q * t.size()))]; };
  row->us = quantile(0.5);
  row->us_min = t.front();
  row->us_spread = (quantile(0.75) - quantile(0.25)) / row->us;
}

}  // namespace bench
