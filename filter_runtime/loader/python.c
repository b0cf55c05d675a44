/* Starts CPython inside Envoy and asks its engine for the hooks.
 *
 * The module has no link dependency on Python, so that Envoy can load it anywhere and a missing Python is one clear
 * line instead of a linker's error. CPython's headers serve for the layout of its configuration only; everything
 * is looked up in the libpython that was found, which has to be of the very version that the engine was built for.
 */
#include <Python.h>

#include <dlfcn.h>
#include <stdarg.h>

#include "find.h"
#include "loader.h"

#define TEXT(x) TEXT_(x)
#define TEXT_(x) #x
#define PYTHON_VERSION TEXT(PY_MAJOR_VERSION) "." TEXT(PY_MINOR_VERSION)

/* The functions of CPython that the loader calls, by name. */
#define CPYTHON(FUNCTION)                                                                                              \
    FUNCTION(Py_GetVersion)                                                                                            \
    FUNCTION(Py_IsInitialized)                                                                                         \
    FUNCTION(PyPreConfig_InitIsolatedConfig)                                                                           \
    FUNCTION(Py_PreInitialize)                                                                                         \
    FUNCTION(PyConfig_InitIsolatedConfig)                                                                              \
    FUNCTION(PyConfig_SetBytesString)                                                                                  \
    FUNCTION(PyConfig_Clear)                                                                                           \
    FUNCTION(PyStatus_Exception)                                                                                       \
    FUNCTION(Py_InitializeFromConfig)                                                                                  \
    FUNCTION(PyEval_SaveThread)                                                                                        \
    FUNCTION(PyGILState_Ensure)                                                                                        \
    FUNCTION(PyGILState_Release)                                                                                       \
    FUNCTION(PySys_GetObject)                                                                                          \
    FUNCTION(PyUnicode_DecodeFSDefault)                                                                                \
    FUNCTION(PyList_Append)                                                                                            \
    FUNCTION(PyImport_ImportModule)                                                                                    \
    FUNCTION(PyObject_GetAttrString)                                                                                   \
    FUNCTION(PyCapsule_GetPointer)                                                                                     \
    FUNCTION(PyErr_Fetch)                                                                                              \
    FUNCTION(PyErr_Clear)                                                                                              \
    FUNCTION(PyObject_Str)                                                                                             \
    FUNCTION(PyUnicode_AsUTF8)

static struct {
#define MEMBER(name) __typeof__(name) *name;
    CPYTHON(MEMBER)
#undef MEMBER
} py;

static char message[2 * PATH_MAX];

static const char *failed(const brownout_python *python, const char *format, ...) {
    char detail[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    for (char *c = detail; *c != '\0'; c++)
        if (*c == '\n')
            *c = ' ';
    snprintf(message, sizeof message,
             "brownout: the Python %s, %s, does not serve: %s. Expected: CPython " PYTHON_VERSION
             " with its shared library and with brownout installed (Debian: libpython" PYTHON_VERSION
             "). Set BROWNOUT_PYTHON=/path/to/bin/python of such an installation or virtual environment.",
             python->source, python->executable, detail);
    return message;
}

static const char *look_up(void *library) {
#define LOOK_UP(name)                                                                                                  \
    if ((py.name = (__typeof__(py.name))dlsym(library, #name)) == NULL)                                                \
        return #name;
    CPYTHON(LOOK_UP)
#undef LOOK_UP
    return NULL;
}

/* The message of the exception that is set, which it clears. */
static void exception_text(char *text, size_t size) {
    PyObject *type = NULL, *value = NULL, *traceback = NULL;
    py.PyErr_Fetch(&type, &value, &traceback);
    PyObject *string = value != NULL ? py.PyObject_Str(value) : NULL;
    const char *utf8 = string != NULL ? py.PyUnicode_AsUTF8(string) : NULL;
    snprintf(text, size, "%s", utf8 != NULL ? utf8 : "unknown error");
    py.PyErr_Clear(); /* once per process: what was fetched is left to it */
}

/* An interpreter of its own: no environment variable, no user site, no signal handler, UTF-8 whatever the locale. */
static const char *initialize(const brownout_python *python) {
    PyPreConfig before;
    PyConfig config;
    PyStatus status;
    py.PyPreConfig_InitIsolatedConfig(&before);
    before.utf8_mode = 1;
    status = py.Py_PreInitialize(&before);
    if (py.PyStatus_Exception(status))
        return status.err_msg;
    py.PyConfig_InitIsolatedConfig(&config);
    config.install_signal_handlers = 0;
    config.write_bytecode = 0;
    config.site_import = 1;
    status = py.PyConfig_SetBytesString(&config, &config.program_name, python->executable);
    if (!py.PyStatus_Exception(status))
        status = py.PyConfig_SetBytesString(&config, &config.executable, python->executable);
    if (!py.PyStatus_Exception(status))
        status = py.Py_InitializeFromConfig(&config);
    py.PyConfig_Clear(&config);
    return py.PyStatus_Exception(status) ? status.err_msg : NULL;
}

/* Makes the package that this module stands in importable, after what the Python itself has. */
static void add_own_package(const char *root) {
    PyObject *path = root[0] != '\0' ? py.PySys_GetObject("path") : NULL;
    PyObject *entry = path != NULL ? py.PyUnicode_DecodeFSDefault(root) : NULL;
    if (entry == NULL || py.PyList_Append(path, entry) != 0)
        py.PyErr_Clear();
}

/* The table that the engine offers; NULL with an exception set when there is none. It lives as long as the process. */
static const brownout_table *import_table(void) {
    PyObject *module = py.PyImport_ImportModule(BROWNOUT_ENGINE);
    PyObject *capsule = module != NULL ? py.PyObject_GetAttrString(module, BROWNOUT_ENGINE_HOOKS) : NULL;
    return capsule != NULL ? py.PyCapsule_GetPointer(capsule, BROWNOUT_TABLE_CAPSULE) : NULL;
}

const char *brownout_start_engine(void) {
    static brownout_python python;
    char detail[1536];
    brownout_find_python(&python);
    void *library = brownout_open_libpython(&python, detail, sizeof detail);
    if (library == NULL)
        return failed(&python, "%s", detail);
    const char *missing = look_up(library);
    if (missing != NULL)
        return failed(&python, "%s is not in its library", missing);
    if (strncmp(py.Py_GetVersion(), PYTHON_VERSION ".", sizeof PYTHON_VERSION) != 0)
        return failed(&python, "it is CPython %.16s", py.Py_GetVersion());

    bool started = !py.Py_IsInitialized();
    const char *error = started ? initialize(&python) : NULL;
    if (error != NULL)
        return failed(&python, "it does not start: %s", error);
    PyGILState_STATE state = py.PyGILState_Ensure();
    add_own_package(python.home);
    const brownout_table *table = import_table();
    if (table == NULL)
        exception_text(detail, sizeof detail);
    py.PyGILState_Release(state);
    if (started)
        py.PyEval_SaveThread(); /* so that configurations can be built whenever Envoy asks */

    if (table == NULL)
        return failed(&python, "its " BROWNOUT_ENGINE " cannot be imported: %s", detail);
    if (table->tag != BROWNOUT_TABLE_TAG || table->size != sizeof *table)
        return failed(&python, "its " BROWNOUT_ENGINE " is of another build (hook table %08x, this libbrownout.so needs %08x)",
                      table->tag, BROWNOUT_TABLE_TAG);
    brownout_hooks = *table;
    return NULL;
}
