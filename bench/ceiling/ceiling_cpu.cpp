// tcu_ceiling_cpu: how fast this machine's memory streams, by the mix of bytes read and written and by size.
//   tcu_ceiling_cpu [--out FILE] [--quick] [--threads N]
// Mixes: read, two reads to a write, copy, fill. Variants: one thread or all of them, ordinary or non-temporal stores; the best median
// counts.
// Operands are rotated out of the cache as in the runners.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace {

constexpr size_t cache_bytes = size_t{32} << 20;

// 32 bytes: two SSE registers where there is no AVX, one where target_clones finds it.
typedef uint64_t Vector __attribute__((vector_size(32)));
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EVERY_TARGET __attribute__((target_clones("avx2", "default"), noinline))
#else
#define FOR_EVERY_TARGET __attribute__((noinline))
#endif

std::atomic<uint64_t> sink;

FOR_EVERY_TARGET void read_only(const Vector *a, size_t n) {
  Vector s[8] = {};
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int u = 0; u < 8; u++) s[u] ^= a[i + u];
  }
  for (; i < n; i++) s[0] ^= a[i];
  for (int u = 1; u < 8; u++) s[0] ^= s[u];
  sink.fetch_xor(s[0][0] ^ s[0][1] ^ s[0][2] ^ s[0][3], std::memory_order_relaxed);
}
FOR_EVERY_TARGET void add(const Vector *a, const Vector *b, Vector *out, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = a[i] + b[i];
}

// 16 bytes past the cache; an ordinary store where there is no such instruction.
inline void stream_store(Vector *out, const Vector &v) {
#if defined(__SSE2__)
  __m128i halves[2];
  std::memcpy(halves, &v, sizeof v);
  _mm_stream_si128(reinterpret_cast<__m128i *>(out), halves[0]);
  _mm_stream_si128(reinterpret_cast<__m128i *>(out) + 1, halves[1]);
#else
  *out = v;
#endif
}
inline void end_streaming() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

// The work of one thread: vectors [from, to) of the operands.
using Work = std::function<void(char *const *operands, size_t from, size_t to)>;
Vector *at(char *operand, size_t i) { return reinterpret_cast<Vector *>(operand) + i; }

struct Variant {
  std::string name;
  int threads;
  Work work;
};
struct Mix {
  const char *name;
  int reads, writes;
};

std::vector<Variant> variants_of(const Mix &mix, int threads) {
  std::vector<std::pair<std::string, Work>> works;
  if (mix.writes == 0) {
    works = {{"loads", [](char *const *o, size_t f, size_t t) { read_only(at(o[0], f), t - f); }}};
  } else if (mix.reads == 2) {
    works = {{"stores", [](char *const *o, size_t f, size_t t) { add(at(o[0], f), at(o[1], f), at(o[2], f), t - f); }},
             {"non-temporal stores", [](char *const *o, size_t f, size_t t) {
                for (size_t i = f; i < t; i++) stream_store(at(o[2], i), *at(o[0], i) + *at(o[1], i));
                end_streaming();
              }}};
  } else if (mix.reads == 1) {
    works = {
        {"memcpy", [](char *const *o, size_t f, size_t t) { std::memcpy(at(o[1], f), at(o[0], f), (t - f) * 32); }},
        {"non-temporal stores", [](char *const *o, size_t f, size_t t) {
           for (size_t i = f; i < t; i++) stream_store(at(o[1], i), *at(o[0], i));
           end_streaming();
         }}};
  } else {
    works = {{"memset", [](char *const *o, size_t f, size_t t) { std::memset(at(o[0], f), 0x5a, (t - f) * 32); }},
             {"non-temporal stores", [](char *const *o, size_t f, size_t t) {
                Vector v = {1, 2, 3, 4};
                for (size_t i = f; i < t; i++) stream_store(at(o[0], i), v);
                end_streaming();
              }}};
  }
  std::vector<Variant> variants;
  for (auto &[name, work] : works) {
    variants.push_back({name + ", 1 thread", 1, work});
    if (threads > 1) variants.push_back({name + ", " + std::to_string(threads) + " threads", threads, work});
  }
  return variants;
}

// Threads that wait by spinning, so that starting them costs well under a microsecond.
class Team {
 public:
  explicit Team(int threads) {
    for (int t = 1; t < threads; t++) workers_.emplace_back([this, t] { serve(t); });
  }
  ~Team() {
    stop_ = true;
    for (std::thread &w : workers_) w.join();
  }
  // job(t) for t < threads, at once; returns when all are done.
  void run(int threads, const std::function<void(int)> &job) {
    if (threads == 1) return job(0);
    job_ = &job;
    left_ = static_cast<int>(workers_.size());
    round_.fetch_add(1);
    job(0);
    while (left_ > 0) pause();
  }

 private:
  static void pause() {
#if defined(__SSE2__)
    _mm_pause();
#endif
  }
  void serve(int t) {
    for (int seen = 0;;) {
      for (int spins = 0; round_ == seen; spins++) {
        if (stop_) return;
        if (spins > 20000) std::this_thread::yield();
        pause();
      }
      seen++;
      (*job_)(t);
      left_.fetch_sub(1);
    }
  }
  std::vector<std::thread> workers_;
  const std::function<void(int)> *job_ = nullptr;
  std::atomic<int> round_{0}, left_{0};
  std::atomic<bool> stop_{false};
};

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

int main(int argc, char **argv) {
  bool quick = false;
  int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::FILE *out = stdout;
  for (int i = 1; i < argc; i++) {
    if (!std::strcmp(argv[i], "--quick"))
      quick = true;
    else if (!std::strcmp(argv[i], "--threads") && i + 1 < argc)
      threads = std::max(1, std::atoi(argv[++i]));
    else if (!std::strcmp(argv[i], "--out") && i + 1 < argc && (out = std::fopen(argv[++i], "w")))
      continue;
    else
      return std::fprintf(stderr, "tcu_ceiling_cpu takes --out FILE (that can be written), --quick, --threads N\n"), 2;
  }
  const size_t largest = size_t{1} << 28;
  const size_t arena_bytes = largest + 4 * cache_bytes + (1 << 20);
  // Large pages, as tcu_malloc has them.
  const size_t page = size_t{2} << 20;
  char *data = static_cast<char *>(std::aligned_alloc(page, (arena_bytes + page - 1) / page * page));
#ifdef MADV_HUGEPAGE
  if (data) madvise(data, arena_bytes, MADV_HUGEPAGE);
#endif
  if (!data) return std::fprintf(stderr, "tcu_ceiling_cpu: no memory\n"), 2;
  uint64_t random = 88172645463325252u;
  for (size_t i = 0; i < arena_bytes / 8; i++) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    reinterpret_cast<uint64_t *>(data)[i] = random;
  }
  Team team(threads);
  for (Mix mix : {Mix{"read", 1, 0}, Mix{"read2_write1", 2, 1}, Mix{"copy", 1, 1}, Mix{"fill", 0, 1}}) {
    for (size_t bytes = 1 << 12; bytes <= largest; bytes *= quick ? 16 : 4) {
      const int operands = mix.reads + mix.writes;
      const size_t n = std::max<size_t>(bytes / 32 / operands, 1), stride = (n * 32 + 255) / 256 * 256;
      const size_t sets = std::clamp<size_t>((4 * cache_bytes + bytes - 1) / bytes, 1, 4096);
      double best = INFINITY, best_min = INFINITY;
      std::string name;
      for (const Variant &v : variants_of(mix, threads)) {
        size_t k = 0;
        auto call = [&] {
          char *o[3];
          for (int j = 0; j < operands; j++) o[j] = data + (k % sets * operands + j) * stride;
          k++;
          team.run(v.threads, [&](int t) {
            if (t < v.threads) v.work(o, n * t / v.threads, n * (t + 1) / v.threads);
          });
        };
        auto batch = [&](int64_t calls) {
          double start = now_us();
          for (int64_t i = 0; i < calls; i++) call();
          return (now_us() - start) / calls;
        };
        batch(2);
        const int64_t calls = std::clamp<int64_t>(std::ceil(2000 / batch(2)), 1, 20000);
        std::vector<double> times;
        for (int s = 0; s < (quick ? 7 : 15); s++) times.push_back(batch(calls));
        std::sort(times.begin(), times.end());
        if (times[times.size() / 2] < best) best = times[times.size() / 2], best_min = times[0], name = v.name;
      }
      const double moved = 32.0 * n * operands;
      std::fprintf(out,
                   "{\"ceiling\": \"%s\", \"read\": %.0f, \"written\": %.0f, \"bytes\": %.0f, \"us\": %.4f, "
                   "\"us_min\": %.4f, \"gbps\": %.1f, \"variant\": \"%s\"}\n",
                   mix.name, 32.0 * n * mix.reads, 32.0 * n * mix.writes, moved, best, best_min, moved / best / 1e3,
                   name.c_str());
      std::fflush(out);
    }
  }
  std::free(data);
  return 0;
}
