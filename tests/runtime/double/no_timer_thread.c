/* Preloaded into Envoy: the module's engine cannot start its thread, as where the limit of threads is reached. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    Dl_info caller;
    if (real == NULL)
        real = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create");
    if (dladdr(__builtin_return_address(0), &caller) && strstr(caller.dli_fname, "/_engine.") != NULL)
        return EAGAIN;
    return real(thread, attributes, body, argument);
}
