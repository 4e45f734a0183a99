// Instance -> its name, and the source that NVRTC compiles. Pure functions of the instance.
#include <algorithm>
#include <set>
#include <string>

#include "core/error.h"
#include "cuda/function.h"

namespace tcu::cuda {
double work_of(Op op, int operand_bytes) {
  constexpr double kWideFunction = 6, kStep = 1.0 / 16;
  const Result result = info(op).result;
  const bool function = result == Result::Float || result == Result::FloatReal || op == Op::pow || op == Op::rem || op == Op::mod ||
                        op == Op::idiv;
  return kStep + (!function ? 0 : operand_bytes > 4 ? kWideFunction : 1);
}

namespace {

std::string params_text(const Instance &f) {
  constexpr const char *names[] = {"ParamsSmall", "ParamsMedium", "ParamsLarge", "ParamsTape"};
  const std::string name = names[int(f.size)];
  if (f.n_kept == Instance::kAny) return name;
  return "OfModes<" + name + ", " + std::to_string(f.n_kept) + ", " + std::to_string(f.n_folded) + ">";
}

std::string value(int i) { return "v" + std::to_string(i); }

// The tape, one line a step: step i makes v<i>, in the compute type of its dtype.
std::string statements(const TypedExpr &map) {
  std::string s;
  for (size_t i = 0; i < map.steps.size(); ++i) {
    const Step &step = map.steps[i];
    s += std::string("    const ") + info(step.result).compute + " " + value(int(i)) + " = ";
    switch (step.kind) {
      case Step::Kind::input: s += "x" + std::to_string(step.index); break;
      case Step::Kind::parameter:
        s += std::string("parameter<") + info(step.result).compute + ">(p, " + std::to_string(step.index) + ")";
        break;
      case Step::Kind::cast: {
        const DTypeInfo &to = info(step.result);
        const std::string cast = std::string("tcu::convert<") + to.storage + ">(" + value(step.args[0]) + ")";
        // a cast to an 8- or 16-bit float rounds, and the value goes on in float
        s += step.result == compute_dtype(step.result) ? cast : std::string("tcu::convert<") + to.compute + ">(" + cast + ")";
        break;
      }
      case Step::Kind::op: {
        s += std::string("tcu::fn::") + info(step.op).name + "::apply(";
        for (int k = 0; k < info(step.op).arity; ++k) s += (k ? ", " : "") + value(step.args[k]);
        s += ")";
        break;
      }
    }
    s += ";\n";
  }
  return s;
}

// The rows of ops.def that the tape names.
std::string ops_text(const TypedExpr &map) {
  std::set<Op> named;
  for (const Step &step : map.steps)
    if (step.kind == Step::Kind::op) named.insert(step.op);
  std::string rows;
  for (const Op op : named) {
    const OpInfo &row = info(op);
    rows += std::string(" TCU_OP(, ") + row.name + ", " + std::to_string(row.arity) + ", , , , " + row.expression + ")";
  }
  return rows;
}

double cost_of(const TypedExpr &map) {
  double cost = 0;
  for (const Step &step : map.steps)
    if (step.kind == Step::Kind::op) cost += work_of(step.op, bytes_of(step.operand));
  return cost;
}
// Kernels hold a copy of the map for each element that a thread has in flight, and the compiler's time grows with them: a
// map of three float64 functions over int8 takes 22 s inlined and 0.5 s as a function that is called. What is called is
// bound by arithmetic anyway.
bool is_called(const Instance &f, const TypedExpr &map) {
  constexpr double kMostInlined = 16;  // of a vector
  int widest = 1;
  for (int i = 0; i < f.n_inputs; ++i) widest = std::max(widest, bytes_of(f.in[i]));
  return cost_of(map) * (16 / widest) > kMostInlined;
}
// is_brief (device/map.cuh).
bool is_brief(const TypedExpr &map) { return cost_of(map) <= 2.0 / 16; }

std::string map_text(const Instance &f) {
  const TypedExpr map = f.map();
  if (f.n_inputs == 1 && map.n_results == 1 && map.steps.size() == 1 && map.steps[0].kind == Step::Kind::input)
    return "using Map = Identity<" + std::string(info(f.in[0]).storage) + ">;\n";
  std::string inputs, arguments;
  for (int i = 0; i < f.n_inputs; ++i) {
    inputs += std::string(i ? ", " : "") + info(f.in[i]).storage;
    arguments += std::string(", ") + info(f.in[i]).compute + " x" + std::to_string(i);
  }
  std::string element = info(map.results[0]).compute, results = value(map.values[0]), more;
  if (map.n_results > 1) {
    element = "Several<" + element, results = "{" + results;
    for (int i = 1; i < map.n_results; ++i)
      element += std::string(", ") + info(map.results[i]).compute, results += ", {" + value(map.values[i]);
    element += ">", results += std::string(size_t(map.n_results), '}');
  }
  for (int i = 0; i < f.n_more; ++i) more += std::string(i ? ", " : "") + info(f.more[i]).storage;
  if (f.n_more) more = "  using More = Types<" + more + ">;\n";
  return "struct Map {\n"
         "  using Inputs = Types<" + inputs + ">;\n"
         "  using Element = " + element + ";\n" + more + (is_brief(map) ? "  static constexpr bool kBrief = true;\n" : "") +
         "  template <class P>\n"
         "  " + (is_called(f, map) ? "__device__ __noinline__" : "TCU_FN") + " static Element apply(const P &p" + arguments +
         ") {\n" + statements(map) +
         "    return " + results + ";\n"
         "  }\n"
         "};\n";
}

}  // namespace

std::string name_of(const Instance &f) {
  // The text of the map says which dtypes its inputs have and what is done with them, in one spelling.
  const TypedExpr map = f.map();
  std::string name = std::string(f.body) + "<" + f.arguments + ">(" + params_text(f) + ") ";
  for (int i = 0; i < f.n_inputs; ++i) name += std::string(info(f.in[i]).enum_name) + " ";
  for (const Step &s : map.steps) {
    switch (s.kind) {
      case Step::Kind::input: name += "x" + std::to_string(s.index); break;
      case Step::Kind::parameter: name += "p" + std::to_string(s.index); break;
      case Step::Kind::cast: name += "(" + value(s.args[0]); break;
      case Step::Kind::op: name += info(s.op).name; break;
    }
    if (s.kind == Step::Kind::op)
      for (int k = 0; k < info(s.op).arity; ++k) name += "," + std::to_string(s.args[k]);
    name += std::string(":") + info(s.result).enum_name + ";";
  }
  if (map.n_results > 1)
    for (int i = 0; i < map.n_results; ++i) name += (i ? "|" : "") + value(map.values[i]);
  for (int i = 0; i < f.n_more; ++i) name += (i ? "," : "->") + std::string(info(f.more[i]).enum_name);
  return name;
}

std::string source_of(const Instance &f) {
  const std::string map = map_text(f), body = std::string(f.body) + "<Map, " + f.arguments + ">";
  const auto names = [&](const char *type) { return (map + body).find(type) != std::string::npos; };
  return "// " + name_of(f) + "\n" + (names("c64_t") || names("c128_t") ? "" : "#define TCU_REAL\n") +
         "#define TCU_OPS" + ops_text(f.map()) + "\n"
         "#include \"kernels/" + std::string(f.body) + ".cuh\"\n"
         "#include \"core/functors.h\"\n"
         "namespace tcu::cuda {\n" + map +
         "using Body = " + body + ";\n"
         "using Call = " + params_text(f) + ";\n"
         "}\n"
         "extern \"C\" __global__ void __launch_bounds__(tcu::cuda::most_threads<tcu::cuda::Body>(), tcu::cuda::Body::kResident)\n"
         "kernel(const __grid_constant__ tcu::cuda::Call p) {\n"
         "  tcu::cuda::begin_in_turn<tcu::cuda::Body>(p);\n"
         "  tcu::cuda::Body::run(p);\n"
         "}\n"
         "#if defined(TCU_EXPORT_KERNEL)\n"
         "TCU_EXPORT_KERNEL(kernel);\n"
         "#endif\n";
}

}  // namespace tcu::cuda
