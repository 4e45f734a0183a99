// The registry of the CUDA backend: one line a row, in the order in which the planner asks them.
#include <algorithm>
#include <span>

#include "cuda/copied.h"
#include "cuda/params.h"
#include "cuda/row.h"
#include "cuda/rows.h"
#include "kernels/broadcast_channels.cuh"
#include "kernels/broadcast_crossed.cuh"
#include "kernels/broadcast_dense.cuh"
#include "kernels/broadcast_flat.cuh"
#include "kernels/broadcast_general.cuh"
#include "kernels/broadcast_periodic.cuh"
#include "kernels/broadcast_permute.cuh"
#include "kernels/broadcast_realigned.cuh"
#include "kernels/broadcast_shifted.cuh"
#include "kernels/broadcast_short.cuh"
#include "kernels/broadcast_sliding.cuh"
#include "kernels/broadcast_tape.cuh"
#include "kernels/broadcast_transpose.cuh"
#include "kernels/reduce_abreast.cuh"
#include "kernels/reduce_channels.cuh"
#include "kernels/reduce_contiguous.cuh"
#include "kernels/reduce_flat.cuh"
#include "kernels/reduce_general.cuh"
#include "kernels/reduce_periods.cuh"
#include "kernels/reduce_shifted.cuh"
#include "kernels/reduce_small.cuh"
#include "kernels/reduce_split.cuh"
#include "kernels/reduce_strided.cuh"
#include "kernels/reduce_tcu_chain.cuh"
#include "kernels/reduce_tcu_segmented.cuh"
#include "kernels/reduce_tcu_staged.cuh"
#include "kernels/reduce_tcu_strided.cuh"
#include "kernels/reduce_tiles.cuh"
#include "kernels/reduce_turned.cuh"
#include "kernels/reduce_virtual.cuh"
#include "kernels/scan_across.cuh"
#include "kernels/scan_along.cuh"
#include "kernels/scan_cluster.cuh"
#include "kernels/scan_columns.cuh"
#include "kernels/scan_interleaved.cuh"
#include "kernels/scan_lookback.cuh"
#include "kernels/scan_short.cuh"
#include "kernels/scan_staged.cuh"
#include "kernels/scan_tcu_lookback.cuh"
#include "kernels/scan_tcu_segmented.cuh"
#include "kernels/scan_tcu_three_launches.cuh"
#include "kernels/scan_tcu_matmulscan.cuh"
#include "kernels/scan_tiles.cuh"
#include "kernels/scan_turned.cuh"
#include "kernels/segmented_balanced.cuh"
#include "kernels/segmented_general.cuh"

namespace tcu::cuda {

int vector_of(const Problem &p, bool with_out) {
  int bytes = with_out ? bytes_of(p.out) : 1;
  for (int i = 0; i < p.n_inputs; ++i) bytes = std::max(bytes, bytes_of(p.in[i]));
  return 16 / bytes;
}

const Mode *fastest(const Problem &p, Role role) {
  for (const Mode &m : p.modes)
    if (m.role == role) return &m;
  return nullptr;
}

bool runs_aligned(const Problem &p, unsigned modes, int operand, int vector) {
  if ((1 << p.alignment[operand]) < vector * bytes_of(p.dtype(operand))) return false;
  for (int m = 0; m < p.modes.size(); ++m)
    if (!(modes >> m & 1) && p.modes[m].stride[operand] % vector != 0) return false;
  return true;
}
bool starts_aligned(const Problem &p, int mode, int operand, int vector) { return runs_aligned(p, 1u << mode, operand, vector); }
bool rows_aligned(const Problem &p, int mode, int operand, int vector) {
  return p.modes[mode].extent % vector == 0 && starts_aligned(p, mode, operand, vector);
}

bool reads_along(const Problem &p, const Mode &mode) {
  return std::any_of(mode.stride + 1, mode.stride + 1 + p.n_inputs, [](int64_t stride) { return stride == 1; });
}
bool jumps_along(const Problem &p, const Mode &mode) {
  return std::any_of(mode.stride + 1, mode.stride + 1 + p.n_inputs, [](int64_t stride) { return stride != 0 && stride != 1; });
}

bool is_dense(const Problem &p, int operand) {
  int64_t stride = 1;
  for (const Mode &m : p.modes) {
    if (m.stride[operand] != stride) return false;
    stride *= m.extent;
  }
  return true;
}
bool has_every_mode(const Problem &p, int operand) {
  return std::all_of(p.modes.begin(), p.modes.end(), [operand](const Mode &m) { return m.stride[operand] != 0; });
}

unsigned once_along(const Problem &p, const Mode &mode, int vector) {
  unsigned inputs = 0;
  for (int i = 0; i < p.n_inputs && vector > 1; ++i) inputs |= unsigned(mode.stride[1 + i] == 0) << i;
  return inputs;
}

Tuning tuning(const char *row, const Problem &p, const Device &d) {
  int bytes = bytes_of(p.out);
  for (int i = 0; i < p.n_inputs; ++i) bytes = std::max(bytes, bytes_of(p.in[i]));
  return tcu::tuning(row, d, bytes);
}
int64_t persistent_grid(const char *row, const Problem &p, const Device &d, int64_t blocks_of_work) {
  const int64_t most = int64_t(d.processors) * tuning(row, p, d).blocks_per_processor;
  return std::clamp<int64_t>(blocks_of_work, 1, std::min<int64_t>(std::max<int64_t>(most, 1), INT32_MAX));
}

namespace {

// The struct of device/fold.cuh: mean is sum, and std is var, with something more at the end (kMean, kRoot);
// sumexp logsumexp without its end; and fold::both of it where there is a second result.
void append_fold(std::string &to, const Problem &p) {
  const auto runs = [&] {
    switch (p.op) {
      case ReduceOp::mean: return ReduceOp::sum;
      case ReduceOp::std: return ReduceOp::var;
      case ReduceOp::sumexp: return ReduceOp::logsumexp;
      default: return p.op;
    }
  }();
  const bool both = !p.scan.segmented && p.n_more > 0;
  to.append(p.scan.segmented ? "fold::segmented<" : both ? "fold::both<" : "").append("fold::").append(info(runs).name);
  if (both) to.append(", ").append(storage_text(p.more[0]));
  if (both || p.scan.segmented) to.append(">");
}

// Positions of 16-bit floats go by these as they are: they have keys (device/keys.cuh), whose ranks are theirs.
const char *accumulator_text(const Problem &p) {
  const bool own = is_arg(p.op) && p.acc == DType::f32 && (p.in[0] == DType::f16 || p.in[0] == DType::bf16) && p.expr->is_identity();
  return own ? storage_text(p.in[0]) : type_text(p.acc);
}

}  // namespace

Instance make_instance(const Problem &p, const char *body, std::initializer_list<std::string> more, const char *index) {
  Instance f;
  f.body = body;
  f.arguments.reserve(128);
  if (p.family != Family::broadcast) append_fold(f.arguments, p), f.arguments.append(", ");
  f.arguments.append(accumulator_text(p)).append(", ").append(storage_text(p.out)).append(", ").append(index ? index : index_text(p));
  for (const std::string &one : more) f.arguments.append(", ").append(one);
  f.expr = p.expr;
  f.size = size_for(p);
  f.n_inputs = p.n_inputs;
  if (p.family == Family::broadcast) f.n_more = p.n_more, std::copy_n(p.more, p.n_more, f.more);
  std::copy_n(p.in, p.n_inputs, f.in);
  // With 64-bit indices there are no registers for what is known then (broadcast.dense, 65537 x 32771 float16: 1.33 of the time).
  if (p.index_bits == 32) f.n_kept = p.modes.n_of(Role::K), f.n_folded = p.modes.size() - f.n_kept;
  return f;
}

namespace {

template <class Row, bool now = false>
std::shared_ptr<const void> prepare(const Problem &p, const LaunchConfig &config, Backend &backend) {
  const Instance f = Row::instance(p, config);
  const Function function = resolve(f, backend.device().ordinal, config, now);
  return now && !function.handle ? nullptr : prepared(function, f.size, p);
}

void launch_row(const Plan &plan, const Execution &e, Backend &) {
  launch_plan(*static_cast<const Prepared *>(plan.prepared.get()), plan, plan.config, e);
}
// Of a row whose plans are several launches of the one function.
template <class Row>
void launch_each(const Plan &plan, const Execution &e, Backend &) {
  const auto &prepared = *static_cast<const Prepared *>(plan.prepared.get());
  Row::each_launch(plan, [&](const LaunchConfig &config) { launch_plan(prepared, plan, config, e); });
}

bool compiled(const Plan &plan) { return static_cast<const Prepared *>(plan.prepared.get())->function.compiled; }

template <class Row>
bool ships(const Problem &p, const Device &d) {
  return is_shipped(Row::instance(p, Row::configure(p, d)));
}

// Rows that are faster already where seven sixteenths of the threads have a vector: broadcast.short, and broadcast.dense where one of two inputs
// is laid out otherwise and has no more than a sixteenth of the elements; of four modes, to divide by, at most. Of 24 random problems 19 were
// faster, 0.72 to 1.12 of the time (H100 and H200).
template <class Row>
bool saves_threads([[maybe_unused]] const Problem &p) {
  if constexpr (std::is_same_v<Row, rows::BroadcastShort>) {
    return p.modes.size() <= 4;
  } else if constexpr (std::is_same_v<Row, rows::BroadcastDense>) {
    const int apart = rows::BroadcastDense::apart(p);  // a bit an input: of the first alone 1, of the second 2
    if (p.modes.size() > 4 || p.n_inputs != 2 || (apart != 1 && apart != 2)) return false;
    int64_t elements = 1;
    for (const Mode &m : p.modes) elements *= m.stride[apart] != 0 ? m.extent : 1;
    return 16 * elements <= p.kept();
  }
  return false;
}

// Where there could be a thread for every vector of out, none waits for another, and broadcast.general, which has the least code to fetch
// and asks the least before it reads, is the fastest (H200, 1,700 random broadcasts: up to 2^18 vectors it is, after that it is not; beside
// broadcast.transpose, whose vectors it may not have, up to as many elements). But nothing is compiled for it where another row's function
// is there. Of a row whose kShort is true suits() says all.
template <class Row>
bool is_for_general(const Problem &p, const Device &d) {
  if constexpr (requires { requires Row::kShort; }) return false;
  const int vector = std::is_same_v<Row, rows::BroadcastTranspose> ? 1 : rows::BroadcastGeneral::vector(p);
  const int64_t threads = int64_t(d.processors) * d.threads_per_processor * (saves_threads<Row>(p) ? 7 : 16) / 16;
  const bool is_short = p.kept() > 0 && p.kept() / vector <= threads;
  return is_short && (ships<rows::BroadcastGeneral>(p, d) || !ships<Row>(p, d));
}
// Of a row before broadcast.general.
template <class Row>
bool suits_broadcast(const Problem &p, const Device &d) {
  if constexpr (requires { Row::suits; }) {
    if (!Row::suits(p, d)) return false;
  }
  return !is_for_general<Row>(p, d);
}

template <class Row> inline constexpr bool stands_in = requires { requires Row::kStandsIn; };

template <class Row>
constexpr Kernel row(const char *name, Family family) {
  if constexpr (requires { Row::prepare; }) {
    Kernel k{name, family, Row::accepts, Row::configure, Row::prepare, Row::launch, Row::compiled, Row::suits};
    if constexpr (requires { Row::prepare_now; }) k.prepare_now = Row::prepare_now;
    return k;
  } else {
    bool (*suits)(const Problem &, const Device &) = nullptr;
    if constexpr (requires { Row::suits; }) suits = Row::suits;
    if (family == Family::broadcast && !std::is_same_v<Row, rows::BroadcastGeneral> && !stands_in<Row>) suits = suits_broadcast<Row>;
    void (*launch)(const Plan &, const Execution &, Backend &) = launch_row;
    if constexpr (requires { &Row::template each_launch<void (*)(const LaunchConfig &)>; }) launch = launch_each<Row>;
    return {name, family, Row::accepts, Row::configure, prepare<Row>, launch, compiled, suits,
            family == Family::broadcast ? prepare<Row, true> : nullptr, stands_in<Row>};  // there is such a row for these alone
  }
}

constexpr Kernel table[] = {
    row<rows::BroadcastFlat>("broadcast.flat", Family::broadcast),
    row<rows::BroadcastChannels>("broadcast.channels", Family::broadcast),
    row<rows::BroadcastCrossed>("broadcast.crossed", Family::broadcast),
    row<rows::BroadcastCopied>("broadcast.copied", Family::broadcast),
    row<rows::BroadcastRealigned>("broadcast.realigned", Family::broadcast),
    row<rows::BroadcastPermute>("broadcast.permute", Family::broadcast),
    row<rows::BroadcastSlidingShared>("broadcast.sliding_shared", Family::broadcast),
    row<rows::BroadcastTranspose>("broadcast.transpose", Family::broadcast),
    row<rows::BroadcastPeriodic>("broadcast.periodic", Family::broadcast),
    row<rows::BroadcastDense>("broadcast.dense", Family::broadcast),
    row<rows::BroadcastShort>("broadcast.short", Family::broadcast),
    row<rows::BroadcastShifted>("broadcast.shifted", Family::broadcast),
    row<rows::BroadcastSlidingRegister>("broadcast.sliding_register", Family::broadcast),
    row<rows::BroadcastGeneral>("broadcast.general", Family::broadcast),
    row<rows::BroadcastTape>("broadcast.tape", Family::broadcast),  // after what takes everything: for pins, and where it stands in
    row<rows::ReduceTiny>("reduce.tiny", Family::reduce),
    row<rows::ReduceTurned>("reduce.turned", Family::reduce),
    row<rows::ReduceCopied>("reduce.copied", Family::reduce),
    row<rows::ReduceTcuStaged>("reduce.tcu.staged", Family::reduce),
    row<rows::ReduceTcuSegmented>("reduce.tcu.segmented", Family::reduce),
    row<rows::ReduceTcuStrided>("reduce.tcu.strided", Family::reduce),
    row<rows::ReduceAbreast>("reduce.abreast", Family::reduce),
    row<rows::ReduceTiles>("reduce.tiles", Family::reduce),
    row<rows::ReducePeriods>("reduce.periods", Family::reduce),
    row<rows::ReduceSmall>("reduce.small", Family::reduce),
    row<rows::ReduceChannels>("reduce.channels", Family::reduce),
    row<rows::ReduceShifted>("reduce.shifted", Family::reduce),
    row<rows::ReduceFlat>("reduce.flat", Family::reduce),
    row<rows::ReduceSplit>("reduce.split", Family::reduce),
    row<rows::ReduceContiguous>("reduce.contiguous", Family::reduce),
    row<rows::ReduceStrided>("reduce.strided", Family::reduce),
    row<rows::ReduceGeneral>("reduce.general", Family::reduce),
    row<rows::ReduceVirtual>("reduce.virtual", Family::reduce),  // after what takes everything: for pins alone, as these
    row<rows::ReduceTcuRecurrence>("reduce.tcu.recurrence", Family::reduce),
    row<rows::ReduceTcuOnePass<false>>("reduce.tcu.single_pass", Family::reduce),
    row<rows::ReduceTcuOnePass<true>>("reduce.tcu.split", Family::reduce),
    row<rows::ScanTurned>("scan.turned", Family::scan),
    row<rows::ScanCopied>("scan.copied", Family::scan),
    row<rows::ScanInterleaved>("scan.interleaved", Family::scan),
    row<rows::ScanCluster>("scan.cluster", Family::scan),
    row<rows::ScanTiles>("scan.tiles", Family::scan),
    row<rows::ScanStaged>("scan.staged", Family::scan),
    row<rows::ScanShort>("scan.short", Family::scan),
    row<rows::ScanColumns>("scan.columns", Family::scan),
    row<rows::ScanLookback>("scan.lookback", Family::scan),
    row<rows::ScanLines>("scan.lines", Family::scan),
    row<rows::ScanGeneral>("scan.general", Family::scan),
    row<rows::ScanTcuSegmented>("scan.tcu.segmented", Family::scan),  // as reduce.virtual, and these
    row<rows::ScanTcuLookback>("scan.tcu.lookback", Family::scan),
    row<rows::ScanTcuThreeLaunches>("scan.tcu.three_launches", Family::scan),
    row<rows::ScanTcuMatmulscan<16>>("scan.tcu.matmulscan", Family::scan),
    row<rows::ScanTcuMatmulscan<8>>("scan.tcu.matmulscan_8", Family::scan),
    row<rows::SegmentedBalanced>("segmented.balanced", Family::segmented),
    row<rows::SegmentedGeneral>("segmented.general", Family::segmented),
};

}  // namespace

std::span<const Kernel> registry() { return table; }
const Kernel &row_without(Family family, bool (*accepts)(const Problem &, const Device &), const Problem &p, const Device &d) {
  const auto takes = [&](const Kernel &k) { return k.family == family && k.accepts != accepts && k.accepts(p, d) && (!k.suits || k.suits(p, d)); };
  return *std::find_if(std::begin(table), std::end(table), takes);  // the last of a family that is no pin takes everything
}

}  // namespace tcu::cuda
