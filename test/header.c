/* Compiled as C99 and as C++11 with -Wall -Wextra -pedantic -Werror: the header stands alone, and its initialisers are whole. */
#include "tcuops.h"

int main(void) {
  tcu_options_t options = TCU_OPTIONS_INIT;
  tcu_device_info_t device = TCU_DEVICE_INFO_INIT;
  tcu_plan_info_t plan = TCU_PLAN_INFO_INIT;
  return options.struct_size == sizeof options && device.struct_size == sizeof device && plan.struct_size == sizeof plan &&
                 TCU_BOOL == 1 && TCU_OP_IDENTITY == 1 && TCU_REDUCE_SUM == 1
             ? 0
             : 1;
}
