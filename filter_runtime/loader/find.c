#define _GNU_SOURCE /* dladdr */
#include "find.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader.h"

/* setup.py bakes these in. */
#ifndef BROWNOUT_BUILT_PYTHON
#error "BROWNOUT_BUILT_PYTHON, BROWNOUT_LIBPYTHON, BROWNOUT_LIBDIR and BROWNOUT_MULTIARCH come from setup.py"
#endif

/* Cuts the last `levels` components off a path; false when there are not that many. */
static bool parent(char *path, int levels) {
    while (levels-- > 0) {
        char *slash = strrchr(path, '/');
        if (slash == NULL || slash == path)
            return false;
        *slash = '\0';
    }
    return true;
}

static bool join(char *out, const char *directory, const char *name) {
    int length = snprintf(out, PATH_MAX, "%s/%s", directory, name);
    return length > 0 && length < PATH_MAX;
}

/* The directory that holds `filter_runtime/lib/libbrownout.so`, when there is an engine's package around it. */
static bool own_root(char *root) {
    Dl_info info;
    char path[PATH_MAX], package[PATH_MAX];
    if (dladdr((const void *)brownout_start_engine, &info) == 0 || realpath(info.dli_fname, root) == NULL)
        return false;
    return parent(root, 3) && join(package, root, "filter_runtime/__init__.py") && realpath(package, path) != NULL;
}

/* `<environment>/lib/pythonX.Y/site-packages` belongs to `<environment>/bin/python`. */
static bool environment_python(const char *root, char *executable) {
    char environment[PATH_MAX];
    const char *name = strrchr(root, '/');
    if (name == NULL || strstr(name, "-packages") == NULL)
        return false;
    memcpy(environment, root, strlen(root) + 1);
    for (const char *const *python = (const char *const[]){"bin/python", "bin/python3", NULL}; *python; python++) {
        char directory[PATH_MAX];
        memcpy(directory, environment, sizeof directory);
        if (parent(directory, 3) && join(executable, directory, *python) && access(executable, X_OK) == 0)
            return true;
    }
    return false;
}

void brownout_find_python(brownout_python *found) {
    const char *chosen = getenv("BROWNOUT_PYTHON");
    if (!own_root(found->home))
        found->home[0] = '\0';
    if (chosen != NULL && chosen[0] != '\0') {
        snprintf(found->executable, sizeof found->executable, "%s", chosen);
        snprintf(found->source, sizeof found->source, "from BROWNOUT_PYTHON");
    } else if (found->home[0] != '\0' && environment_python(found->home, found->executable)) {
        snprintf(found->source, sizeof found->source, "beside libbrownout.so");
    } else {
        snprintf(found->executable, sizeof found->executable, "%s", BROWNOUT_BUILT_PYTHON);
        snprintf(found->source, sizeof found->source, "that the module was built with");
    }
}

/* The installation that an executable belongs to: through a virtual environment's pyvenv.cfg, else through links. */
static bool installation(const char *executable, char *prefix) {
    char config[PATH_MAX], line[PATH_MAX + 16];
    snprintf(prefix, PATH_MAX, "%s", executable);
    if (parent(prefix, 2) && join(config, prefix, "pyvenv.cfg")) {
        FILE *file = fopen(config, "r");
        char *value = NULL;
        while (file != NULL && value == NULL && fgets(line, sizeof line, file) != NULL)
            if (strncmp(line, "home", 4) == 0 && (value = strchr(line, '=')) != NULL)
                value += 1 + strspn(value + 1, " ");
        if (file != NULL)
            fclose(file);
        if (value != NULL) {
            value[strcspn(value, "\r\n")] = '\0';
            return realpath(value, prefix) != NULL && parent(prefix, 1);
        }
    }
    return realpath(executable, prefix) != NULL && parent(prefix, 2);
}

void *brownout_open_libpython(const brownout_python *python, char *tried, size_t size) {
    char prefix[PATH_MAX], path[PATH_MAX];
    const char *places[] = {"lib/" BROWNOUT_LIBPYTHON, "lib/" BROWNOUT_MULTIARCH "/" BROWNOUT_LIBPYTHON,
                            "lib64/" BROWNOUT_LIBPYTHON};
    size_t used = 0;
    if (access(python->executable, X_OK) != 0) {
        snprintf(tried, size, "it is not there or cannot be executed (%s)", strerror(errno));
        return NULL;
    }
    if (!installation(python->executable, prefix)) {
        snprintf(tried, size, "its installation cannot be found");
        return NULL;
    }
    used = (size_t)snprintf(tried, size, "no " BROWNOUT_LIBPYTHON ": tried");
    for (size_t i = 0; i <= sizeof places / sizeof *places; i++) {
        bool built = i == sizeof places / sizeof *places; /* an installation may keep its libraries elsewhere */
        if (built && strcmp(python->executable, BROWNOUT_BUILT_PYTHON) != 0)
            break;
        if (!join(path, built ? BROWNOUT_LIBDIR : prefix, built ? BROWNOUT_LIBPYTHON : places[i]))
            continue;
        if (access(path, R_OK) == 0) {
            void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
            if (handle == NULL)
                snprintf(tried, size, "%s", dlerror());
            return handle;
        }
        if (used < size)
            used += (size_t)snprintf(tried + used, size - used, " %s", path);
    }
    return NULL;
}
