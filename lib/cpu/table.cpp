#include "cpu/table.h"

namespace tcu::cpu {

const Table &table() {
  static const Table &t = [] () -> const Table & {
    static Table made;
    fill_default_ops(made);
    fill_ops(made);
    fill_math(made);
    fill_casts(made);
    fill_folds(made);
    fill_scans(made);
    fill_stream(made);
    return made;
  }();
  return t;
}

}  // namespace tcu::cpu
