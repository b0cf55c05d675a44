/* One line into Envoy's log. */
#include <stdio.h>
#include <string.h>

#include "loader.h"

enum { LEVEL_ERROR = 4 };

/* Weak, so that a plain program can load the module too. */
extern void envoy_dynamic_module_callback_log(int level, brownout_buffer message) __attribute__((weak));

void brownout_log_error(const char *line) {
    if (envoy_dynamic_module_callback_log != NULL)
        envoy_dynamic_module_callback_log(LEVEL_ERROR, (brownout_buffer){line, strlen(line)});
    else
        fprintf(stderr, "%s\n", line);
}
