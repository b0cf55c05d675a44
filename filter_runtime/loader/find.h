/* Where a Python may be, and which shared libpython belongs to it. */
#ifndef BROWNOUT_FIND_H
#define BROWNOUT_FIND_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct {
    char executable[PATH_MAX]; /* what Python is told it was started as: a virtual environment's python */
    char home[PATH_MAX];       /* the root directory of this module's package, empty when it stands alone */
    char source[64];           /* how the executable was found, for the message */
} brownout_python;

/* Which Python to start: BROWNOUT_PYTHON, else the environment that this module stands in, else the interpreter
 * that it was built with. */
void brownout_find_python(brownout_python *found);

/* Opens the shared libpython of that Python so that extension modules see its symbols. Returns its handle, or NULL
 * with what was tried written to `tried`. */
void *brownout_open_libpython(const brownout_python *python, char *tried, size_t size);

#endif
