// tcu_matmul_counts S N [S N ...]: runs the library's MatMulScan (lib/cpu/matmul_scan.h) on N numbers with S x S matrices and prints, a
// line each: S N, products, depth, and whether the sums are right (1 or 0).
#include <cstdio>
#include <cstdlib>

#include "cpu/matmul_scan.h"

int main(int argc, char **argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const int s = std::atoi(argv[i]);
    const long long n = std::atoll(argv[i + 1]);
    if (s < 2 || n < 0) return std::fprintf(stderr, "tcu_matmul_counts: s is 2 at least, and n 0\n"), 2;
    std::vector<double> x(static_cast<size_t>(n)), expected(x.size());
    double sum = 0;
    for (size_t k = 0; k < x.size(); ++k) x[k] = double(k * 7919 % 1009), expected[k] = sum += x[k];
    const tcu::cpu::MatmulCounts c = tcu::cpu::MatmulScan<double>(s).scan(x.data(), n);
    std::printf("%d %lld %lld %lld %d\n", s, n, (long long)c.products, (long long)c.depth, int(x == expected));
  }
}
