/* A program that calls the module as Envoy does, from several threads at once, for the sanitizers: Envoy itself cannot
 * be instrumented. It has the loader's sources in it and starts the real Python and the instrumented engine.
 *
 * Each worker owns streams, an event queue that any thread may post to, and a random mix of what can happen: responses
 * that are held, released, forced or rewritten, streams that end at any moment, also within a posted event, and
 * configurations that come and go meanwhile. In the end nothing may be left.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    const char *data;
    size_t length;
} text;

enum { WORKERS = 4, SLOTS = 32, REQUESTS = 8, ROUTES = 3, CONTINUE = 0, DUE_MS = 3 };
enum { REQUEST_HEADERS = 0 };

extern const char *envoy_dynamic_module_on_program_init(void);
#define HOOK(name) envoy_dynamic_module_on_http_filter_##name
extern const void *HOOK(config_new)(void *, text, text);
extern void HOOK(config_destroy)(const void *);
extern const void *HOOK(per_route_config_new)(text, text);
extern void HOOK(per_route_config_destroy)(const void *);
extern const void *HOOK(new)(const void *, void *);
extern void HOOK(destroy)(const void *);
extern int HOOK(request_headers)(void *, const void *, bool);
extern int HOOK(response_headers)(void *, const void *, bool);
extern int HOOK(response_body)(void *, const void *, bool);
extern int HOOK(response_trailers)(void *, const void *);
extern void HOOK(scheduled)(void *, const void *, uint64_t);

typedef struct worker worker;

/* Envoy's filter object: freed by its last reference, wherever that is dropped. */
typedef struct stream {
    atomic_int references;
    atomic_bool destroyed;
    worker *owner;
    const void *module;
    const void *route;
    const char *status;
    const char *path; /* attempts at one request share it */
} stream;

typedef struct scheduler {
    stream *of;
} scheduler;

typedef struct event {
    struct event *next;
    stream *of;
    uint64_t id;
} event;

struct worker {
    pthread_t thread;
    uint32_t index;
    unsigned seed;
    pthread_mutex_t lock;
    event *posted;
    stream *slots[SLOTS];
    char paths[REQUESTS];
};

static worker workers[WORKERS];
static const void *filter;
static pthread_mutex_t routes_lock = PTHREAD_MUTEX_INITIALIZER;
static const void *routes[ROUTES];
static atomic_long in_flight, held, errors, schedulers, streams, replies, released;
static atomic_bool over;

/* -- callbacks */

#define CALLBACK(name) envoy_dynamic_module_callback_##name

void CALLBACK(log)(int level, text message) {
    (void)level;
    fprintf(stderr, "%.*s\n", (int)message.length, message.data);
}

bool CALLBACK(http_get_header)(void *envoy, int map, text key, text *value, size_t index, size_t *count) {
    const char *found = map == REQUEST_HEADERS ? (strncmp(key.data, ":path", key.length) == 0 ? "/pay?x=1" : NULL)
                                               : ((stream *)envoy)->status;
    if (count != NULL)
        *count = found != NULL;
    *value = found != NULL && index == 0 ? (text){found, strlen(found)} : (text){NULL, 0};
    return value->data != NULL;
}
size_t CALLBACK(http_get_headers_size)(void *envoy, int map) { return (void)envoy, (void)map, 0; }
bool CALLBACK(http_get_headers)(void *envoy, int map, void *out) { return (void)envoy, (void)map, (void)out, true; }
bool CALLBACK(http_add_header)(void *envoy, int map, text key, text value) {
    (void)envoy, (void)map;
    return key.length + value.length > 0;
}
bool CALLBACK(http_set_header)(void *envoy, int map, text key, text value) {
    (void)envoy, (void)map, (void)value;
    return key.length > 0;
}
void CALLBACK(http_send_response)(void *envoy, uint32_t status, void *headers, size_t count, text body, text details) {
    (void)envoy, (void)status, (void)headers, (void)count, (void)body, (void)details;
    atomic_fetch_add(&replies, 1);
}
size_t CALLBACK(http_get_body_size)(void *envoy, int kind) { return (void)envoy, (void)kind, 10; }
bool CALLBACK(http_append_body)(void *envoy, int kind, text data) { return (void)envoy, (void)kind, data.length > 0; }
bool CALLBACK(http_drain_body)(void *envoy, int kind, size_t length) { return (void)envoy, (void)kind, length > 0; }
void CALLBACK(http_filter_continue_encoding)(void *envoy) { (void)envoy, atomic_fetch_add(&released, 1); }
size_t CALLBACK(http_get_body_chunks_size)(void *envoy, int kind) { return (void)envoy, (void)kind, 0; }
bool CALLBACK(http_get_body_chunks)(void *envoy, int kind, text *chunks) {
    return (void)envoy, (void)kind, chunks == NULL;
}
uint64_t CALLBACK(http_get_buffer_limit)(void *envoy) { return (void)envoy, 1 << 20; }
void CALLBACK(http_set_buffer_limit)(void *envoy, uint64_t limit) { (void)envoy, (void)limit; }
void CALLBACK(http_filter_reset_stream)(void *envoy, int reason, text details) {
    (void)envoy, (void)reason, (void)details, atomic_fetch_add(&released, 1);
}
uint32_t CALLBACK(http_filter_get_worker_index)(void *envoy) { return ((stream *)envoy)->owner->index; }
bool CALLBACK(http_filter_get_attribute_string)(void *envoy, int attribute, text *value) {
    (void)attribute;
    *value = (text){((stream *)envoy)->path, 1};
    return true;
}
bool CALLBACK(http_filter_get_attribute_int)(void *envoy, int attribute, uint64_t *value) {
    return (void)envoy, (void)attribute, value == NULL;
}
const void *CALLBACK(get_most_specific_route_config)(void *envoy) { return ((stream *)envoy)->route; }
void *CALLBACK(http_get_active_span)(void *envoy) { return (void)envoy, NULL; }
void CALLBACK(http_span_set_tag)(void *span, text key, text value) { (void)span, (void)key, (void)value; }

static atomic_long *const gauges[] = {&in_flight, &held};
static bool is(text name, const char *expected) {
    return name.length == strlen(expected) && memcmp(name.data, expected, name.length) == 0;
}
static bool begins(text name, const char *expected) {
    return name.length > strlen(expected) && memcmp(name.data, expected, strlen(expected)) == 0;
}
static int define(text name, size_t *id) {
    *id = is(name, "in_flight") ? 0 : is(name, "held") ? 1 : begins(name, "errors_") ? 3 : 2;
    return 0;
}
#define DEFINE(kind)                                                                                                   \
    int CALLBACK(http_filter_config_define_##kind)(void *config, text name, void *labels, size_t count, size_t *id) {  \
        return (void)config, (void)labels, (void)count, define(name, id);                                             \
    }
DEFINE(counter)
DEFINE(gauge)
DEFINE(histogram)
int CALLBACK(http_filter_increment_counter)(void *envoy, size_t id, void *labels, size_t count, uint64_t by) {
    (void)envoy, (void)labels, (void)count;
    return id == 3 && atomic_fetch_add(&errors, (long)by) < 0;
}
int CALLBACK(http_filter_increment_gauge)(void *envoy, size_t id, void *labels, size_t count, uint64_t by) {
    (void)envoy, (void)labels, (void)count;
    return atomic_fetch_add(gauges[id], (long)by) < 0;
}
int CALLBACK(http_filter_decrement_gauge)(void *envoy, size_t id, void *labels, size_t count, uint64_t by) {
    (void)envoy, (void)labels, (void)count;
    return atomic_fetch_sub(gauges[id], (long)by) < 0;
}
int CALLBACK(http_filter_record_histogram_value)(void *envoy, size_t id, void *labels, size_t count, uint64_t value) {
    return (void)envoy, (void)id, (void)labels, (void)count, value > INT64_MAX;
}

/* -- streams and their schedulers */

static void destroy_module(stream *it) {
    if (!atomic_exchange(&it->destroyed, true))
        HOOK(destroy)(it->module);
}

static void drop(stream *it) {
    if (atomic_fetch_sub(&it->references, 1) != 1)
        return;
    destroy_module(it); /* where Envoy's destructor does it, on whatever thread */
    free(it);
    atomic_fetch_sub(&streams, 1);
}

void *CALLBACK(http_filter_scheduler_new)(void *envoy) {
    scheduler *it = malloc(sizeof *it);
    it->of = envoy;
    atomic_fetch_add(&it->of->references, 1); /* as a weak one keeps the memory */
    atomic_fetch_add(&schedulers, 1);
    return it;
}

void CALLBACK(http_filter_scheduler_commit)(void *module, uint64_t id) {
    stream *of = ((scheduler *)module)->of;
    event *posted = malloc(sizeof *posted);
    atomic_fetch_add(&of->references, 1);
    *posted = (event){NULL, of, id};
    pthread_mutex_lock(&of->owner->lock);
    posted->next = of->owner->posted;
    of->owner->posted = posted;
    pthread_mutex_unlock(&of->owner->lock);
}

void CALLBACK(http_filter_scheduler_delete)(void *module) {
    scheduler *it = module;
    drop(it->of);
    free(it);
    atomic_fetch_sub(&schedulers, 1);
}

/* -- a worker's life */

static void end(worker *self, int slot) {
    stream *it = self->slots[slot];
    self->slots[slot] = NULL;
    if (rand_r(&self->seed) % 4 != 0)
        destroy_module(it); /* else by whoever drops the last reference */
    drop(it);
}

static void begin(worker *self, int slot) {
    static const char *const statuses[] = {"200", "404", "503"};
    stream *it = calloc(1, sizeof *it);
    atomic_fetch_add(&streams, 1);
    atomic_store(&it->references, 1);
    it->owner = self;
    it->status = statuses[rand_r(&self->seed) % 3];
    it->path = &self->paths[rand_r(&self->seed) % REQUESTS];
    pthread_mutex_lock(&routes_lock);
    it->route = routes[rand_r(&self->seed) % ROUTES];
    it->module = HOOK(new)(filter, it);
    HOOK(request_headers)(it, it->module, rand_r(&self->seed) % 2);
    pthread_mutex_unlock(&routes_lock);
    self->slots[slot] = it;
    if (rand_r(&self->seed) % 16 == 0)
        return; /* ends before the upstream answers */
    bool ended = rand_r(&self->seed) % 2;
    int next = HOOK(response_headers)(it, it->module, ended);
    if (!ended && rand_r(&self->seed) % 4 != 0)
        next = HOOK(response_body)(it, it->module, rand_r(&self->seed) % 2);
    else if (!ended)
        next = HOOK(response_trailers)(it, it->module);
    if (next == CONTINUE && rand_r(&self->seed) % 2)
        end(self, slot);
}

static void run_posted(worker *self) {
    pthread_mutex_lock(&self->lock);
    event *posted = self->posted;
    self->posted = NULL;
    pthread_mutex_unlock(&self->lock);
    while (posted != NULL) {
        event *it = posted;
        posted = it->next;
        if (!atomic_load(&it->of->destroyed))
            HOOK(scheduled)(it->of, it->of->module, it->id);
        drop(it->of);
        free(it);
    }
}

static void *work(void *argument) {
    worker *self = argument;
    while (!atomic_load(&over)) {
        int slot = rand_r(&self->seed) % SLOTS;
        if (self->slots[slot] == NULL)
            begin(self, slot);
        else if (rand_r(&self->seed) % 8 == 0)
            end(self, slot);
        run_posted(self);
    }
    for (int slot = 0; slot < SLOTS; slot++)
        if (self->slots[slot] != NULL)
            end(self, slot);
    return NULL;
}

static text literal(const char *string) { return (text){string, strlen(string)}; }

static const void *new_route(unsigned number) {
    char json[512];
    snprintf(json, sizeof json,
             "{\"responses\":[{\"status\":200,\"resolution\":5,\"distribution\":{\"p0\":\"0s\",\"p100\":\"%dms\"}},"
             "{\"status\":503,\"resolution\":5,\"distribution\":{\"p0\":\"0s\",\"p100\":\"1ms\"}}],"
             "\"override\":\"%s\",\"label\":\"push-%u\",\"endpoint\":\"e\",\"percent\":%d,"
             "\"upstream_protocol\":\"%s\"}",
             DUE_MS, number % 2 ? "upstream_response" : "local_response", number % 10, number % 3 ? 100 : 50,
             number % 5 ? "http2" : "http1");
    return HOOK(per_route_config_new)(literal("brownout"), literal(json));
}

static void push(unsigned number) {
    const void *fresh = new_route(number), *old;
    pthread_mutex_lock(&routes_lock);
    old = routes[number % ROUTES];
    routes[number % ROUTES] = fresh;
    pthread_mutex_unlock(&routes_lock);
    HOOK(per_route_config_destroy)(old);
}

static void halt(bool halted) {
    const void *config = HOOK(config_new)(NULL, literal("brownout"), literal(halted ? "{\"halted\":true}" : "{\"halted\":false}"));
    HOOK(config_destroy)(config);
}

int main(int count, char **arguments) {
    const struct timespec pause = {0, 1000000};
    const unsigned milliseconds = count > 1 ? (unsigned)atol(arguments[1]) : 1000;
    envoy_dynamic_module_on_program_init();
    filter = HOOK(config_new)(NULL, literal("brownout"), literal("{\"endpoints\":[]}"));
    if (filter == NULL)
        return 2;
    for (unsigned i = 0; i < ROUTES; i++)
        routes[i] = new_route(i);
    for (uint32_t i = 0; i < WORKERS; i++) {
        workers[i].index = i;
        workers[i].seed = i + 1;
        pthread_mutex_init(&workers[i].lock, NULL);
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (unsigned i = 0; i < milliseconds; i++) {
        push(i);
        if (i % 64 >= 62)
            halt(i % 64 == 62);
        nanosleep(&pause, NULL);
    }
    atomic_store(&over, true);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i].thread, NULL);
    for (int waited = 0; waited < 20000 && atomic_load(&schedulers) > 0; waited++) {
        for (int i = 0; i < WORKERS; i++)
            run_posted(&workers[i]);
        nanosleep(&pause, NULL);
    }
    for (int i = 0; i < WORKERS; i++)
        run_posted(&workers[i]);
    for (unsigned i = 0; i < ROUTES; i++)
        HOOK(per_route_config_destroy)(routes[i]);
    HOOK(config_destroy)(filter);
    printf("in_flight %ld held %ld errors %ld schedulers %ld streams %ld replies %d released %d\n", in_flight, held,
           errors, schedulers, streams, replies > 0, released > 0);
    fflush(stdout);
    _exit(0);
}
