/* The loader's own parts. */
#ifndef BROWNOUT_LOADER_H
#define BROWNOUT_LOADER_H

#include "table.h"

#define EXPORT __attribute__((visibility("default")))

/* The engine's hooks; `tag` is 0 until `brownout_start_engine` has succeeded. */
extern brownout_table brownout_hooks;

/* Finds a Python, starts it in this process and fills `brownout_hooks`. Returns NULL, or one line that says what
 * was tried, what was expected and how to cure it. Called once, on Envoy's main thread. */
const char *brownout_start_engine(void);

/* Writes one line of level error to Envoy's log (to stderr outside of Envoy). */
void brownout_log_error(const char *line);

#endif
