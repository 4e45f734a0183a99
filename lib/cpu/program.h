// Program: a typed expression as a list of tile functions over slots. A slot is one tile in one dtype: an input as it is
// stored, a parameter spread over a tile, or a register that is reused as soon as its value is dead. Tiles are small
// enough that all slots together stay in L1/L2.
#pragma once
#include <vector>

#include "cpu/table.h"

namespace tcu::cpu {

struct Program {
  struct Instruction {
    TileFn fn;
    int16_t out, args[3];
  };
  // Slots: inputs 0..n_inputs-1, then parameters, then registers. `result` is one of them; when it is written by the last
  // instruction, that one may be pointed elsewhere.
  int n_inputs = 0, n_registers = 0;
  uint32_t reads = 0;                // the inputs, a bit each, that a step names: the only ones that have room in a slot
  int result = 0, n_more = 0;
  int more[kMaxResults - 1] = {};    // the slots of a map's results beside that
  DType result_dtype = DType::none;  // as stored
  int widest = 1;                    // bytes of an element of the widest slot
  std::vector<Parameter> parameters;
  std::vector<Instruction> code;

  int n_slots() const { return n_inputs + int(parameters.size()) + n_registers; }
  int parameter_slot(int i) const { return n_inputs + i; }
  int register_slot(int i) const { return n_inputs + int(parameters.size()) + i; }
  bool computes() const { return !code.empty(); }  // else the result is an input or a parameter as it is

  // slots: a pointer for every slot, registers included. The result goes to `out` if it is computed.
  void run(void **slots, void *out, int64_t n) const {
    const Instruction *const last = code.data() + code.size() - 1;
    for (const Instruction &i : code)
      i.fn(&i == last ? out : slots[i.out], i.args[0] < 0 ? nullptr : slots[i.args[0]],
           i.args[1] < 0 ? nullptr : slots[i.args[1]], i.args[2] < 0 ? nullptr : slots[i.args[2]], n);
  }
};

// Typed steps that are put together by hand as well as by infer().
struct Builder {
  TypedExpr typed;
  int n_inputs = 0;
  int value = -1;                   // the step whose value is the result so far
  DType result = DType::none;       // and its dtype
  struct Other {
    int value;
    DType out;
  };
  std::vector<Other> more;          // a map's other results: the steps whose values these are, and the dtypes that they are stored in

  Builder() = default;
  Builder(const Expr &expr, const DType *inputs, int n_inputs);  // of several values, the last
  // Of an expression that leaves several values: the first alone; and all, those after the first stored as the dtypes of `more`.
  static Builder first_of(const Expr &expr, const DType *inputs, int n_inputs);
  static Builder all_of(const Expr &expr, const DType *inputs, int n_inputs, const DType *more);
  int input(int index, DType d);
  int parameter(DType d, int slot);  // slot < -1 names a number that the launch supplies: kAlpha, kBeta
  void cast(DType to);               // the result so far, to `to` as it is stored; 8- and 16-bit floats stay rounded
  int cast(int step, DType from, DType to);
  int binary(Op op, int a, int b, DType d);
  void unary(Op op, DType to);         // of the result so far
};
inline constexpr int kAlpha = -2, kBeta = -3;

// out: the dtype that the result is stored in. Fails if a function is missing from the table.
Program compile(const Builder &b, DType out);

// out = convert<out>(alpha * value + beta * out): the last steps of every operation. `out_input` is the input number under
// which the old output comes in. Two programs, since alpha == 1 must not touch a value (Inf * (1 + 0i) would).
void append_post(Builder &b, DType post, DType out, bool scaled, bool reads_out, int out_input);

}  // namespace tcu::cpu
