// dtypes.def, promotion and result types, against tables written by hand from Julia.
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/op.h"
#include "core/problems.h"

using namespace tcu;
using support::code_of;

namespace {

DType named(const std::string &enum_name) {
  for (int id = 1; id < kDTypeEnd; ++id)
    if (info(DType(id)).enum_name == enum_name) return DType(id);
  throw std::runtime_error("no dtype " + enum_name);
}

std::vector<DType> list(const std::string &names) {
  std::istringstream in(names);
  std::vector<DType> out;
  for (std::string name; in >> name;) out.push_back(name == "-" ? DType::none : named(name));
  return out;
}

// promote_type(row, column). Two floats of one width are Float32, of two widths the wider one; there is no complex dtype of 8- or 16-bit
// floats, so ComplexF32 stands in.
const char *kPromotion =
    "bool_  i8     i16    i32    i64    u8     u16    u32    u64    f16    bf16   f32    f64    c64    c128   f8e4m3 f8e5m2 "
    "i8     i8     i16    i32    i64    u8     u16    u32    u64    f16    bf16   f32    f64    c64    c128   f8e4m3 f8e5m2 "
    "i16    i16    i16    i32    i64    i16    u16    u32    u64    f16    bf16   f32    f64    c64    c128   f8e4m3 f8e5m2 "
    "i32    i32    i32    i32    i64    i32    i32    u32    u64    f16    bf16   f32    f64    c64    c128   f8e4m3 f8e5m2 "
    "i64    i64    i64    i64    i64    i64    i64    i64    u64    f16    bf16   f32    f64    c64    c128   f8e4m3 f8e5m2 "
    "u8     u8     i16    i32    i64    u8     u16    u32    u64    f16    bf16   f32    f64    c64    c128   f8e4m3 f8e5m2 "
    "u16    u16    u16    i32    i64    u16    u16    u32    u64    f16    bf16   f32    f64    c64    c128   f8e4m3 f8e5m2 "
    "u32    u32    u32    u32    i64    u32    u32    u32    u64    f16    bf16   f32    f64    c64    c128   f8e4m3 f8e5m2 "
    "u64    u64    u64    u64    u64    u64    u64    u64    u64    f16    bf16   f32    f64    c64    c128   f8e4m3 f8e5m2 "
    "f16    f16    f16    f16    f16    f16    f16    f16    f16    f16    f32    f32    f64    c64    c128   f16    f16 "
    "bf16   bf16   bf16   bf16   bf16   bf16   bf16   bf16   bf16   f32    bf16   f32    f64    c64    c128   bf16   bf16 "
    "f32    f32    f32    f32    f32    f32    f32    f32    f32    f32    f32    f32    f64    c64    c128   f32    f32 "
    "f64    f64    f64    f64    f64    f64    f64    f64    f64    f64    f64    f64    f64    c128   c128   f64    f64 "
    "c64    c64    c64    c64    c64    c64    c64    c64    c64    c64    c64    c64    c128   c64    c128   c64    c64 "
    "c128   c128   c128   c128   c128   c128   c128   c128   c128   c128   c128   c128   c128   c128   c128   c128   c128 "
    "f8e4m3 f8e4m3 f8e4m3 f8e4m3 f8e4m3 f8e4m3 f8e4m3 f8e4m3 f8e4m3 f16    bf16   f32    f64    c64    c128   f8e4m3 f32 "
    "f8e5m2 f8e5m2 f8e5m2 f8e5m2 f8e5m2 f8e5m2 f8e5m2 f8e5m2 f8e5m2 f16    bf16   f32    f64    c64    c128   f32    f8e5m2 ";

OpTypes types(Op op, const std::string &args) { return op_types(op, list(args).data()); }

}  // namespace

TEST_CASE("dtypes: names, sizes and kinds") {
  const std::map<std::string, std::pair<int, Kind>> rows = {
      {"bool", {1, Kind::Bool}},         {"int8", {1, Kind::Int}},     {"int16", {2, Kind::Int}},
      {"int32", {4, Kind::Int}},         {"int64", {8, Kind::Int}},    {"uint8", {1, Kind::UInt}},
      {"uint16", {2, Kind::UInt}},       {"uint32", {4, Kind::UInt}},  {"uint64", {8, Kind::UInt}},
      {"float16", {2, Kind::Float}},     {"bfloat16", {2, Kind::Float}}, {"float32", {4, Kind::Float}},
      {"float64", {8, Kind::Float}},     {"complex64", {8, Kind::Complex}}, {"complex128", {16, Kind::Complex}},
      {"float8_e4m3", {1, Kind::Float}}, {"float8_e5m2", {1, Kind::Float}}};
  for (const auto &[name, row] : rows) {
    INFO(name);
    const DType d = dtype_by_name(name.c_str());
    REQUIRE(d != DType::none);
    CHECK(bytes_of(d) == row.first);
    CHECK(kind_of(d) == row.second);
  }
  CHECK(rows.size() == size_t(kDTypeEnd - 1));
  CHECK(dtype_by_name("float8") == DType::none);
  for (int id : {-1, 0, kDTypeEnd, 255, 256 + 12, INT32_MAX, INT32_MIN}) CHECK_FALSE(is_dtype(id));
}

TEST_CASE("promotion is Julia's, and symmetric") {
  const std::vector<DType> want = list(kPromotion);
  constexpr int n = kDTypeEnd - 1;
  REQUIRE(want.size() == size_t(n * n));
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b) {
      INFO(info(DType(a + 1)).name << " with " << info(DType(b + 1)).name);
      CHECK(promote(DType(a + 1), DType(b + 1)) == want[size_t(a * n + b)]);
      CHECK(want[size_t(b * n + a)] == want[size_t(a * n + b)]);  // the table itself
    }
}

TEST_CASE("float, the real part, the compute type and the sum's type") {
  const std::vector<DType> all = list("bool_ i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 c64 c128 f8e4m3 f8e5m2");
  const std::vector<DType> floats = list("f64 f64 f64 f64 f64 f64 f64 f64 f64 f16 bf16 f32 f64 c64 c128 f8e4m3 f8e5m2");
  const std::vector<DType> reals = list("bool_ i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 f32 f64 f8e4m3 f8e5m2");
  const std::vector<DType> computes = list("bool_ i8 i16 i32 i64 u8 u16 u32 u64 f32 f32 f32 f64 c64 c128 f32 f32");
  const std::vector<DType> sums = list("i64 i64 i64 i64 i64 u64 u64 u64 u64 f32 f32 f32 f64 c64 c128 f32 f32");
  for (size_t i = 0; i < all.size(); ++i) {
    INFO(info(all[i]).name);
    CHECK(float_of(all[i]) == floats[i]);
    CHECK(real_part_of(all[i]) == reals[i]);
    CHECK(compute_dtype(all[i]) == computes[i]);
    CHECK(widen_for_sum(all[i]) == sums[i]);
  }
}

TEST_CASE("result types: what Julia gives") {
  struct Row {
    Op op;
    const char *args, *operand, *result;
  };
  const Row rows[] = {
      {Op::add, "bool_ bool_", "i64", "i64"},   {Op::sub, "bool_ bool_", "i64", "i64"},
      {Op::mul, "bool_ bool_", "bool_", "bool_"}, {Op::neg, "bool_", "i64", "i64"},
      {Op::add, "i8 i8", "i8", "i8"},           {Op::add, "u8 i8", "u8", "u8"},
      {Op::add, "i32 u16", "i32", "i32"},       {Op::mul, "i64 u64", "u64", "u64"},
      {Op::div, "i32 i32", "f64", "f64"},       {Op::div, "bool_ bool_", "f64", "f64"},
      {Op::div, "i64 f16", "f16", "f16"},       {Op::div, "f32 i64", "f32", "f32"},
      {Op::idiv, "i32 i8", "i32", "i32"},       {Op::add, "f16 bf16", "f32", "f32"},
      {Op::add, "c64 f64", "c128", "c128"},     {Op::mul, "c64 i64", "c64", "c64"},
      {Op::abs, "c64", "c64", "f32"},           {Op::abs2, "c128", "c128", "f64"},
      {Op::abs, "bool_", "bool_", "bool_"},     {Op::arg, "i32", "f64", "f64"},
      {Op::arg, "c64", "c64", "f32"},           {Op::real, "c128", "c128", "f64"},
      {Op::sqrt, "i32", "f64", "f64"},          {Op::exp, "bf16", "bf16", "bf16"},
      {Op::tanh, "f16", "f16", "f16"},          {Op::floor, "i16", "i16", "i16"},
      {Op::isnan, "c64", "c64", "bool_"},       {Op::lt, "i8 f32", "f32", "bool_"},
      {Op::eq, "u8 c128", "c128", "bool_"},     {Op::max, "bool_ i16", "i16", "i16"},
      {Op::shl, "bool_ i8", "i8", "i8"},        {Op::bit_and, "bool_ bool_", "bool_", "bool_"},
      {Op::ifelse, "bool_ i8 f32", "f32", "f32"}, {Op::ifelse, "bool_ bool_ bool_", "bool_", "bool_"},
      {Op::clamp, "f32 i64 i64", "f32", "f32"}, {Op::fma, "i8 i16 f64", "f64", "f64"},
      {Op::relu, "i8", "i8", "i8"},             {Op::sigmoid, "i8", "f64", "f64"},
      {Op::add, "f8e4m3 f8e5m2", "f32", "f32"}, {Op::mul, "f8e5m2 f16", "f16", "f16"},
      {Op::div, "i64 f8e4m3", "f8e4m3", "f8e4m3"}, {Op::exp, "f8e5m2", "f8e5m2", "f8e5m2"},
      {Op::lt, "bool_ f8e4m3", "f8e4m3", "bool_"}, {Op::add, "f8e4m3 c64", "c64", "c64"},
  };
  for (const Row &r : rows) {
    INFO(info(r.op).name << " of " << r.args);
    const OpTypes t = types(r.op, r.args);
    CHECK(std::string(info(t.operand).enum_name) == r.operand);
    CHECK(std::string(info(t.result).enum_name) == r.result);
  }
}

TEST_CASE("result types of every row, for every combination of dtypes, follow its rule") {
  int rows = 0;
  for (int id = 0; id < 1024; ++id) {
    if (!is_op(id)) continue;
    ++rows;
    const Op op = Op(id);
    const OpInfo &row = info(op);
    CHECK(op_by_name(row.name) == op);
    REQUIRE((row.arity >= 1 && row.arity <= 3));
    CHECK((id < 200 ? 1 : id < 400 ? 2 : 3) == row.arity);
    const int n = kDTypeEnd - 1, total = row.arity == 1 ? n : row.arity == 2 ? n * n : n * n * n;
    for (int i = 0; i < total; ++i) {
      const DType args[3] = {DType(1 + i % n), DType(1 + i / n % n), DType(1 + i / n / n)};
      const bool select = row.result == Result::Select;
      DType p = select ? promote(args[1], args[2]) : args[0];
      for (int k = 1; k < row.arity && !select; ++k) p = promote(p, args[k]);
      const bool defined = row.domain.has(kind_of(p)) && (!select || args[0] == DType::bool_);
      if (!defined) {
        if (code_of([&] { op_types(op, args); }) != Code::dtype) FAIL_CHECK(row.name << " takes " << info(p).name);
        continue;
      }
      const OpTypes t = op_types(op, args);
      DType operand = p, result = p;
      if (row.result == Result::Arith && p == DType::bool_) operand = result = DType::i64;
      if (row.result == Result::Float || row.result == Result::FloatReal) operand = result = float_of(p);
      if (row.result == Result::RealPart || row.result == Result::FloatReal) result = real_part_of(result);
      if (row.result == Result::Bool) result = DType::bool_;
      if (t.operand != operand || t.result != result) FAIL_CHECK(row.name << " of " << info(p).name);
    }
  }
  CHECK(rows > 100);
  for (int id : {-1, 0, 19, 1023, 1024, INT32_MAX, INT32_MIN}) CHECK_FALSE(is_op(id));
  CHECK(op_by_name("nothing") == Op::none);
}

TEST_CASE("folds: accumulators and identities") {
  CHECK(accumulator_of(ReduceOp::sum, DType::bool_) == DType::i64);
  CHECK(accumulator_of(ReduceOp::sum, DType::u8) == DType::u64);
  CHECK(accumulator_of(ReduceOp::prod, DType::f16) == DType::f32);
  CHECK(accumulator_of(ReduceOp::sum, DType::c64) == DType::c64);
  CHECK(accumulator_of(ReduceOp::max, DType::i8) == DType::i8);
  CHECK(accumulator_of(ReduceOp::min, DType::bf16) == DType::f32);
  CHECK(accumulator_of(ReduceOp::any, DType::f32) == DType::bool_);
  for (const DType d : {DType::f8e4m3, DType::f8e5m2})
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::argmin, ReduceOp::mean, ReduceOp::var, ReduceOp::logsumexp})
      CHECK(accumulator_of(op, d) == DType::f32);
  CHECK(accumulator_of(ReduceOp::count, DType::f32) == DType::i64);
  CHECK(accumulator_of(ReduceOp::argmax, DType::f16) == DType::f32);
  for (ReduceOp op : {ReduceOp::max, ReduceOp::min, ReduceOp::argmax, ReduceOp::argmin})
    CHECK(code_of([&] { accumulator_of(op, DType::c64); }) == Code::dtype);

  CHECK(identity_of(ReduceOp::sum, DType::f32).f == 0);
  CHECK(identity_of(ReduceOp::prod, DType::u64).u == 1);
  CHECK(identity_of(ReduceOp::prod, DType::c64).c[0] == 1);
  CHECK(identity_of(ReduceOp::prod, DType::c64).c[1] == 0);
  CHECK(identity_of(ReduceOp::max, DType::i8).i == INT8_MIN);
  CHECK(identity_of(ReduceOp::min, DType::i64).i == INT64_MAX);
  CHECK(identity_of(ReduceOp::max, DType::i64).i == INT64_MIN);
  CHECK(identity_of(ReduceOp::min, DType::u16).u == UINT16_MAX);
  CHECK(identity_of(ReduceOp::max, DType::u64).u == 0);
  CHECK(identity_of(ReduceOp::min, DType::u64).u == UINT64_MAX);
  CHECK(identity_of(ReduceOp::max, DType::f64).f == -std::numeric_limits<double>::infinity());
  CHECK(identity_of(ReduceOp::min, DType::bool_).i == 1);
  CHECK(identity_of(ReduceOp::all, DType::bool_).i == 1);
  CHECK(identity_of(ReduceOp::any, DType::bool_).i == 0);

  CHECK(accumulator_of(ReduceOp::mean, DType::bool_) == DType::f64);
  CHECK(accumulator_of(ReduceOp::mean, DType::f16) == DType::f32);
  CHECK(accumulator_of(ReduceOp::mean, DType::c64) == DType::c64);
  CHECK(accumulator_of(ReduceOp::var, DType::i8) == DType::f64);
  CHECK(accumulator_of(ReduceOp::std, DType::bf16) == DType::f32);
  CHECK(accumulator_of(ReduceOp::norm, DType::c64) == DType::f32);
  CHECK(accumulator_of(ReduceOp::norm, DType::u16) == DType::f64);
  CHECK(accumulator_of(ReduceOp::logsumexp, DType::f32) == DType::f32);
  for (ReduceOp op : {ReduceOp::var, ReduceOp::std, ReduceOp::logsumexp})
    CHECK(code_of([&] { accumulator_of(op, DType::c128); }) == Code::dtype);
  CHECK(takes_accumulator(ReduceOp::mean, DType::c128));
  CHECK_FALSE(takes_accumulator(ReduceOp::mean, DType::i64));
  CHECK(takes_accumulator(ReduceOp::var, DType::f64));
  CHECK_FALSE(takes_accumulator(ReduceOp::norm, DType::c64));
  CHECK_FALSE(takes_accumulator(ReduceOp::count, DType::f64));
  CHECK(identity_of(ReduceOp::logsumexp, DType::f64).f == -std::numeric_limits<double>::infinity());
  CHECK(value_of_nothing(ReduceOp::norm, DType::f32).f == 0);
  CHECK(value_of_nothing(ReduceOp::sum, DType::i64).i == 0);
  for (ReduceOp op : {ReduceOp::mean, ReduceOp::var, ReduceOp::std}) CHECK(std::isnan(value_of_nothing(op, DType::f32).f));
  CHECK(std::isnan(value_of_nothing(ReduceOp::mean, DType::c64).c[1]));

  for (const char *name : {"sum", "prod", "max", "min", "any", "all", "count", "argmax", "argmin", "mean", "var", "std", "norm",
                           "logsumexp", "extrema", "sumexp", "recurrence"})
    CHECK(std::string(info(reduce_op_by_name(name)).name) == name);
  CHECK(reduce_op_by_name("median") == ReduceOp::none);
  for (int id : {-1, 0, 18, 31, 32, 257}) CHECK_FALSE(is_reduce_op(id));
}
