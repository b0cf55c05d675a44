/* Preloaded into Envoy: stops the module's timer thread inside the first event that it posts, once the worker was woken
 * and can go on, as a busy machine may. It goes on when the process has taken itself down, where nothing of it may be
 * left, or after STALL_SECONDS. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { STALL_SECONDS = 2 };

static sem_t ending;
static atomic_bool inside, done;
static _Thread_local bool woke;

__attribute__((constructor)) static void begin(void) { sem_init(&ending, 0, 0); }

static void note_wake(void) {
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    woke = strcmp(name, "brownout-timers") == 0 && !atomic_load(&done);
}

/* Envoy's event loop wakes a thread by one of these, within a mutex that the woken thread then takes. */
ssize_t write(int file, const void *data, size_t size) {
    static ssize_t (*real)(int, const void *, size_t);
    if (real == NULL)
        real = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    note_wake();
    return real(file, data, size);
}

int eventfd_write(int file, uint64_t value) {
    static int (*real)(int, uint64_t);
    if (real == NULL)
        real = (int (*)(int, uint64_t))dlsym(RTLD_NEXT, "eventfd_write");
    note_wake();
    return real(file, value);
}

static void say(const char *line) { dprintf(STDERR_FILENO, "%s\n", line); }

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    static int (*real)(pthread_mutex_t *);
    if (real == NULL)
        real = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
    int result = real(mutex);
    if (woke) {
        struct timespec until;
        woke = false;
        atomic_store(&done, true);
        atomic_store(&inside, true);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += STALL_SECONDS;
        say("timer thread stalled");
        sem_timedwait(&ending, &until);
        say("timer thread goes on");
        atomic_store(&inside, false);
    }
    return result;
}

/* The very end. A thread that is still inside gets its second to do harm. */
__attribute__((destructor)) static void end(void) {
    if (atomic_load(&inside)) {
        sem_post(&ending);
        sleep(1);
    }
}
