/* A program that calls the module as Envoy does, from several threads at once, for the sanitizers: Envoy itself cannot
 * be instrumented. It has the loader's sources in it and starts the real Python and the instrumented engine.
 *
 * Each worker owns requests, an event queue that any thread may post to, and a random mix of what can happen. A request
 * has a stream in the connection manager's chain, up to three attempts in the cluster's, and a router between them that
 * takes the first answer, retries some errors and gives up what it does not need. Clients pause, resume and leave,
 * upstreams answer early, in pieces and with trailers; configurations come and go meanwhile. Some requests have one of
 * the two filters only, some are Envoy's own calls or copies. In the end nothing may be left.
 *
 * What would end a real Envoy is counted as a violation: see `check`.
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

typedef struct {
    text name, value;
} header;

enum { WORKERS = 4, SLOTS = 32, ROUTES = 3, ATTEMPTS = 3, PIECE = 1500, DUE_US = 2000 };
enum { CONTINUE = 0, STOP_AND_KEEP = 2, EVENT_RESUMED = 4 };
enum { REQUEST_HEADERS = 0, RESPONSE_HEADERS = 2, RECEIVED_BODY = 2 };
enum { REQUEST_HOST = 2, REQUEST_METHOD = 4, CONNECTION_ID = 28, UPSTREAM_ADDRESS = 41, UPSTREAM_ATTEMPT = 53 };
enum piece { HEADERS, BODY, TRAILERS };

static const char MARK[] = "x-brownout-handed-over";
enum { MARK_SIZE = 16 };

extern const char *envoy_dynamic_module_on_program_init(void);
#define HOOK(name) envoy_dynamic_module_on_http_filter_##name
extern const void *HOOK(config_new)(void *, text, text);
extern void HOOK(config_destroy)(const void *);
extern const void *HOOK(per_route_config_new)(text, text);
extern void HOOK(per_route_config_destroy)(const void *);
extern const void *HOOK(new)(const void *, void *);
extern void HOOK(destroy)(const void *);
extern int HOOK(request_headers)(void *, const void *, bool);
extern int HOOK(request_body)(void *, const void *, bool);
extern int HOOK(request_trailers)(void *, const void *);
extern int HOOK(response_headers)(void *, const void *, bool);
extern int HOOK(response_body)(void *, const void *, bool);
extern int HOOK(response_trailers)(void *, const void *);
extern void HOOK(scheduled)(void *, const void *, uint64_t);
extern int HOOK(local_reply)(void *, const void *, uint32_t, text, bool);
extern void HOOK(downstream_above_write_buffer_high_watermark)(void *, const void *);
extern void HOOK(downstream_below_write_buffer_low_watermark)(void *, const void *);

typedef struct worker worker;
typedef struct stream stream;

/* A route's configuration, which lives as long as the last stream that looks at it. */
typedef struct {
    atomic_int references;
    const void *module;
} route;

/* What belongs to a request on its worker. Freed with the last of its streams. */
typedef struct {
    atomic_int references;
    worker *owner;
    bool internal, mirrored; /* no client waits for it */
    bool grpc, connect;
    bool request_ended;
    bool answered; /* the router has taken an answer */
    bool retries;  /* the router starts another attempt soon */
    bool ended;
    int pauses; /* of the client's connection */
    route *route;
    char number[sizeof(int64_t)]; /* the filter state */
    bool numbered;
    stream *manager;
    stream *attempts[ATTEMPTS];
    int attempt_count;
    stream *releasing; /* the attempt whose complete response goes on right now */
} request;

/* Envoy's filter object: freed by its last reference, wherever that is dropped. */
struct stream {
    atomic_int references;
    atomic_bool destroyed;
    atomic_bool gone; /* the module has been told */
    worker *owner;
    request *of;
    const void *module;
    route *route; /* NULL: the filter's own configuration */
    uint64_t number; /* of the attempt, 0 in the connection manager */
    char status[4];
    char mark[MARK_SIZE];
    bool marked;
    int pieces; /* how many of the response come before its end */
    bool with_trailers;
    bool begun, stopped, complete;         /* what has come */
    bool headers_passed, end_passed; /* what has gone on */
    bool over;                       /* no hook of the response is called any more */
    bool ended;                      /* Envoy has let go of it */
    size_t buffered, received;
    uint64_t limit;
    char content[2 * ATTEMPTS * PIECE];
};

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
    request *slots[SLOTS];
};

static worker workers[WORKERS];
static const void *manager_filter, *cluster_filter;
static pthread_mutex_t routes_lock = PTHREAD_MUTEX_INITIALIZER;
static route *routes[ROUTES];
static atomic_bool over;
static atomic_long schedulers, streams, requests;
static atomic_long released, replies, landed, handed_over, resumed, violations;
enum { IN_FLIGHT, HELD, ERRORS, RELAYED, GIVEN_UP, SKIPPED, OTHER, METRICS };
static atomic_long metrics[METRICS];

static bool chance(worker *self, int of) { return rand_r(&self->seed) % (unsigned)of == 0; }
static text literal(const char *string) { return (text){string, strlen(string)}; }
static bool is(text name, const char *expected) {
    return name.length == strlen(expected) && memcmp(name.data, expected, name.length) == 0;
}
static bool begins(text name, const char *expected) {
    return name.length > strlen(expected) && memcmp(name.data, expected, strlen(expected)) == 0;
}

/* What the invariant of the hold forbids, and what no module may do. */
static void check(bool holds, const char *what) {
    if (!holds && atomic_fetch_add(&violations, 1) < 10)
        fprintf(stderr, "violation: %s\n", what);
}

static stream *known(void *envoy) {
    check(!atomic_load(&((stream *)envoy)->gone), "a callback for a stream that is gone");
    return envoy;
}

static void receive(stream *it, enum piece piece, size_t size, bool end);
static void pass_on(stream *it);
static void reply(stream *from, uint32_t status, bool with_body, text details, const char *mark);
static void end_stream(stream *it);
static void end_request(request *it);

/* -- references */

static route *keep_route(route *it) {
    if (it != NULL)
        atomic_fetch_add(&it->references, 1);
    return it;
}

static void drop_route(route *it) {
    if (it == NULL || atomic_fetch_sub(&it->references, 1) != 1)
        return;
    HOOK(per_route_config_destroy)(it->module);
    free(it);
}

static void drop_request(request *it) {
    if (atomic_fetch_sub(&it->references, 1) != 1)
        return;
    drop_route(it->route);
    free(it);
    atomic_fetch_sub(&requests, 1);
}

static void destroy_module(stream *it) {
    if (atomic_exchange(&it->destroyed, true))
        return;
    HOOK(destroy)(it->module);
    atomic_store(&it->gone, true);
}

static void drop(stream *it) {
    if (atomic_fetch_sub(&it->references, 1) != 1)
        return;
    destroy_module(it); /* where Envoy's destructor does it, on whatever thread */
    drop_route(it->route);
    drop_request(it->of);
    free(it);
    atomic_fetch_sub(&streams, 1);
}

/* -- callbacks */

#define CALLBACK(name) envoy_dynamic_module_callback_##name

#ifndef BEFORE_1_39
bool CALLBACK(http_get_upstream_connection_id)(void) { return false; }
#endif

void CALLBACK(log)(int level, text message) {
    (void)level;
    fprintf(stderr, "%.*s\n", (int)message.length, message.data);
}

static text request_header(const request *of, text key) {
    if (is(key, ":path"))
        return literal("/pay?x=1");
    if (is(key, "content-type"))
        return literal(of->grpc ? "application/grpc" : "text/plain");
    if (of->mirrored && (is(key, "x-forwarded-proto") || is(key, "x-request-id")))
        return literal("1");
    return (text){NULL, 0};
}

bool CALLBACK(http_get_header)(void *envoy, int map, text key, text *value, size_t index, size_t *count) {
    stream *it = known(envoy);
    text found = {NULL, 0};
    if (map == REQUEST_HEADERS)
        found = request_header(it->of, key);
    else if (map == RESPONSE_HEADERS && is(key, ":status"))
        found = literal(it->status);
    else if (map == RESPONSE_HEADERS && is(key, MARK) && it->marked)
        found = (text){it->mark, MARK_SIZE};
    if (count != NULL)
        *count = found.data != NULL;
    *value = index == 0 ? found : (text){NULL, 0};
    return value->data != NULL;
}

size_t CALLBACK(http_get_headers_size)(void *envoy, int map) {
    return map == RESPONSE_HEADERS ? 2 + known(envoy)->marked : 0;
}

bool CALLBACK(http_get_headers)(void *envoy, int map, header *out) {
    stream *it = known(envoy);
    if (map != RESPONSE_HEADERS)
        return true;
    out[0] = (header){literal(":status"), literal(it->status)};
    out[1] = (header){literal("content-type"), literal("text/plain")};
    if (it->marked)
        out[2] = (header){literal(MARK), {it->mark, MARK_SIZE}};
    return true;
}

bool CALLBACK(http_add_header)(void *envoy, int map, text key, text value) {
    (void)known(envoy), (void)map;
    return key.length + value.length > 0;
}

bool CALLBACK(http_set_header)(void *envoy, int map, text key, text value) {
    stream *it = known(envoy);
    if (map == RESPONSE_HEADERS && is(key, MARK)) {
        if (it->number == 0 && it->marked && value.length == 0)
            atomic_fetch_add(&handed_over, 1);
        it->marked = value.length == MARK_SIZE;
        memcpy(it->mark, value.data != NULL ? value.data : it->mark, it->marked ? MARK_SIZE : 0);
    }
    return key.length > 0;
}

void CALLBACK(http_send_response)(void *envoy, uint32_t status, header *headers, size_t count, text body,
                                  text details) {
    stream *it = known(envoy);
    const char *mark = NULL;
    size_t read = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t at = 0; at < headers[i].value.length; at++)
            read += (unsigned char)headers[i].value.data[at];
        if (is(headers[i].name, MARK))
            mark = headers[i].value.data;
    }
    for (size_t at = 0; at < body.length; at++)
        read += (unsigned char)body.data[at];
    check(read > 0 || count == 0, "a reply whose headers are empty");
    check(!it->over, "a reply of a stream that is over");
    atomic_fetch_add(&replies, 1);
    reply(it, status, body.length > 0, details, mark);
}

size_t CALLBACK(http_get_body_size)(void *envoy, int kind) {
    return kind == RECEIVED_BODY ? known(envoy)->received : known(envoy)->buffered;
}
bool CALLBACK(http_append_body)(void *envoy, int kind, text data) {
    stream *it = known(envoy);
    *(kind == RECEIVED_BODY ? &it->received : &it->buffered) += data.length;
    check(!it->number || !it->complete || it->limit == 0 || it->buffered <= it->limit,
          "a complete response grows too large");
    return true;
}
bool CALLBACK(http_drain_body)(void *envoy, int kind, size_t length) {
    stream *it = known(envoy);
    size_t *size = kind == RECEIVED_BODY ? &it->received : &it->buffered;
    check(length <= *size, "more is drained than there is");
    *size -= length;
    return true;
}
size_t CALLBACK(http_get_body_chunks_size)(void *envoy, int kind) { return (void)kind, known(envoy)->buffered > 0; }
bool CALLBACK(http_get_body_chunks)(void *envoy, int kind, text *chunks) {
    stream *it = known(envoy);
    (void)kind;
    if (it->buffered > 0)
        chunks[0] = (text){it->content, it->buffered};
    return true;
}
uint64_t CALLBACK(http_get_buffer_limit)(void *envoy) { return known(envoy)->limit; }
void CALLBACK(http_set_buffer_limit)(void *envoy, uint64_t limit) { known(envoy)->limit = limit; }

void CALLBACK(http_filter_continue_encoding)(void *envoy) {
    stream *it = known(envoy);
    request *of = it->of;
    check(!it->over, "a stream that is over goes on");
    atomic_fetch_add(&released, 1);
    if (it->number && it->complete && !of->internal) {
        check(of->manager != NULL, "a complete response goes on without the connection manager's filter");
        check(of->pauses == 0, "a complete response goes on while the client is paused");
        check(!it->with_trailers || it->limit == 0 || it->buffered <= it->limit, "an oversized response goes on");
        of->releasing = it;
    }
    pass_on(it);
    of->releasing = NULL;
}

void CALLBACK(http_filter_reset_stream)(void *envoy, int reason, text details) {
    stream *it = known(envoy);
    request *of = it->of;
    (void)reason;
    check(it->number > 0, "the client's stream is reset");
    end_stream(it);
    for (int i = 0; i < ATTEMPTS; i++)
        if (of->attempts[i] != NULL)
            return;
    of->retries = of->attempt_count < ATTEMPTS && chance(of->owner, 2);
    if (!of->retries)
        reply(it, 503, true, details, NULL); /* the router's own */
}

bool CALLBACK(http_set_filter_state_bytes)(void *envoy, text key, text value) {
    request *of = known(envoy)->of;
    check(is(key, "brownout.request") && value.length == sizeof of->number, "another filter state");
    check(!of->numbered, "filter state that is set twice");
    memcpy(of->number, value.data, sizeof of->number);
    of->numbered = true;
    return true;
}
bool CALLBACK(http_get_filter_state_bytes)(void *envoy, text key, text *value) {
    request *of = known(envoy)->of;
    (void)key;
    *value = of->numbered ? (text){of->number, sizeof of->number} : (text){NULL, 0};
    return of->numbered;
}

bool CALLBACK(http_filter_get_attribute_string)(void *envoy, int attribute, text *value) {
    stream *it = known(envoy);
    if (attribute == UPSTREAM_ADDRESS)
        *value = it->number ? literal("127.0.0.1:80") : (text){NULL, 0};
    else if (attribute == REQUEST_HOST)
        *value = literal(it->of->mirrored ? "upstream-shadow" : "upstream");
    else
        *value = literal(it->of->connect ? "CONNECT" : "GET");
    return value->data != NULL;
}
bool CALLBACK(http_filter_get_attribute_int)(void *envoy, int attribute, uint64_t *value) {
    stream *it = known(envoy);
    *value = attribute == UPSTREAM_ATTEMPT ? it->number : 7;
    return attribute == UPSTREAM_ATTEMPT ? true : attribute == CONNECTION_ID && !it->of->internal;
}
uint32_t CALLBACK(http_filter_get_worker_index)(void *envoy) { return known(envoy)->owner->index; }
const void *CALLBACK(get_most_specific_route_config)(void *envoy) {
    route *found = known(envoy)->route;
    return found != NULL ? found->module : NULL;
}
void *CALLBACK(http_get_active_span)(void *envoy) { return (void)known(envoy), NULL; }
void CALLBACK(http_span_set_tag)(void *span, text key, text value) { (void)span, (void)key, (void)value; }

static int define(text name, size_t *id) {
    *id = is(name, "in_flight")    ? IN_FLIGHT
          : is(name, "held")       ? HELD
          : is(name, "relayed")    ? RELAYED
          : is(name, "given_up")   ? GIVEN_UP
          : begins(name, "skipped") ? SKIPPED
          : begins(name, "errors") ? ERRORS
                                   : OTHER;
    return 0;
}
#define DEFINE(kind)                                                                                                   \
    int CALLBACK(http_filter_config_define_##kind)(void *config, text name, void *labels, size_t count, size_t *id) {  \
        return (void)config, (void)labels, (void)count, define(name, id);                                             \
    }
DEFINE(counter)
DEFINE(gauge)
DEFINE(histogram)
static int move(void *envoy, size_t id, long by) {
    atomic_fetch_add(&metrics[id], by);
    return known(envoy) == NULL;
}
int CALLBACK(http_filter_increment_counter)(void *envoy, size_t id, void *labels, size_t count, uint64_t by) {
    return (void)labels, (void)count, move(envoy, id, (long)by);
}
int CALLBACK(http_filter_increment_gauge)(void *envoy, size_t id, void *labels, size_t count, uint64_t by) {
    return (void)labels, (void)count, move(envoy, id, (long)by);
}
int CALLBACK(http_filter_decrement_gauge)(void *envoy, size_t id, void *labels, size_t count, uint64_t by) {
    return (void)labels, (void)count, move(envoy, id, -(long)by);
}
int CALLBACK(http_filter_record_histogram_value)(void *envoy, size_t id, void *labels, size_t count, uint64_t value) {
    return (void)known(envoy), (void)id, (void)labels, (void)count, value > INT64_MAX;
}

void *CALLBACK(http_filter_scheduler_new)(void *envoy) {
    scheduler *it = malloc(sizeof *it);
    it->of = known(envoy);
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

/* -- the way of a response: from an attempt to the router, to the connection manager's filter, to the client */

static void pause_client(request *of) {
    of->pauses++;
    if (of->manager != NULL)
        HOOK(downstream_above_write_buffer_high_watermark)(of->manager, of->manager->module);
}

static void resume_client(request *of) {
    of->pauses--;
    if (of->manager != NULL)
        HOOK(downstream_below_write_buffer_low_watermark)(of->manager, of->manager->module);
}

static void written(request *of, bool end) {
    check(of->releasing == NULL || of->releasing->end_passed, "something is written before the router has let go");
    if (of->releasing != NULL)
        atomic_fetch_add(&landed, 1);
    if (!of->ended && of->pauses < 3 && chance(of->owner, 8))
        pause_client(of);
    if (end)
        end_request(of);
}

static void routed(stream *it, enum piece piece, size_t size, bool end) {
    request *of = it->of;
    if (piece == HEADERS) {
        bool error = it->status[0] > '3', has_rival = false;
        for (int i = 0; i < ATTEMPTS; i++)
            has_rival |= of->attempts[i] != NULL && of->attempts[i] != it;
        if (error && (has_rival || (of->attempt_count < ATTEMPTS && chance(of->owner, 2)))) {
            of->retries = !has_rival;
            end_stream(it);
            HOOK(response_body)(it, NULL, true); /* on 1.38 and 1.39 */
            return;
        }
        of->answered = true;
        for (int i = 0; i < ATTEMPTS; i++)
            if (of->attempts[i] != NULL && of->attempts[i] != it)
                end_stream(of->attempts[i]);
        if (of->manager != NULL) {
            memcpy(of->manager->status, it->status, sizeof it->status);
            memcpy(of->manager->mark, it->mark, MARK_SIZE);
            of->manager->marked = it->marked;
        }
    }
    if (end)
        it->end_passed = true;
    if (of->manager != NULL)
        receive(of->manager, piece, size, end);
    else
        written(of, end);
    if (end && !it->over)
        end_stream(it); /* the router is done with it */
}

static void pass(stream *it, enum piece piece, size_t size, bool end) {
    if (it->over)
        return;
    if (it->number)
        routed(it, piece, size, end);
    else
        written(it->of, end);
}

/* What was stopped goes on, with what has just come. */
static void pass_on(stream *it) {
    size_t body = it->buffered + it->received;
    bool ends = it->complete && !it->with_trailers, first = !it->headers_passed;
    bool ends_at_headers = first && ends && body == 0;
    it->buffered = it->received = 0;
    it->headers_passed = true;
    it->stopped = false;
    if (first)
        pass(it, HEADERS, 0, ends_at_headers);
    if (body > 0 || (ends && !ends_at_headers))
        pass(it, BODY, body, ends);
    if (it->complete && it->with_trailers)
        pass(it, TRAILERS, 0, true);
}

static void receive(stream *it, enum piece piece, size_t size, bool end) {
    int next;
    if (it->over)
        return;
    atomic_fetch_add(&it->references, 1);
    it->begun = true;
    it->received = size;
    if (piece == HEADERS)
        next = HOOK(response_headers)(it, it->module, end);
    else if (piece == BODY)
        next = HOOK(response_body)(it, it->module, end);
    else
        it->with_trailers = true, next = HOOK(response_trailers)(it, it->module);
    if (!it->over) {
        if (next == CONTINUE) {
            bool was = it->complete;
            it->complete = end;
            pass_on(it);
            it->complete |= was;
        } else {
            stream *from = it->of->releasing;
            it->stopped = true;
            it->buffered += next == STOP_AND_KEEP ? it->received : 0;
            check(it->number || from == NULL || !from->with_trailers || it->limit == 0 || it->buffered <= it->limit,
                  "the connection manager pauses a stream that is gone");
        }
        it->received = 0;
        it->complete |= end;
    }
    drop(it);
}

/* An answer of Envoy's own. From an attempt, or in its place, it passes the connection manager's filter. */
static void reply(stream *from, uint32_t status, bool with_body, text details, const char *mark) {
    request *of = from->of;
    stream *manager = of->manager;
    bool begun = manager != NULL && manager->begun;
    if (manager == NULL) {
        end_request(of);
        return;
    }
    from->over |= from->number > 0;
    of->answered = true;
    HOOK(local_reply)(manager, manager->module, status, details, false);
    if (manager == from || begun) {
        check(!manager->headers_passed || from->number > 0, "a second response");
        end_request(of);
        return;
    }
    snprintf(manager->status, sizeof manager->status, "%u", status % 1000);
    manager->marked = mark != NULL;
    if (mark != NULL)
        memcpy(manager->mark, mark, MARK_SIZE);
    receive(manager, HEADERS, 0, !with_body);
    if (with_body)
        receive(manager, BODY, 24, true);
}

/* -- a worker's life */

static route *some_route(worker *self) {
    pthread_mutex_lock(&routes_lock);
    route *found = keep_route(routes[rand_r(&self->seed) % ROUTES]);
    pthread_mutex_unlock(&routes_lock);
    return found;
}

/* `number` is 0 in the connection manager. Attempts mostly have the request's route. */
static void begin_stream(request *of, uint64_t number) {
    static const char *const statuses[] = {"200", "200", "101", "404", "503"};
    static const uint64_t limits[] = {0, 1000, 2000, 1 << 20};
    worker *self = of->owner;
    stream *it = calloc(1, sizeof *it);
    atomic_fetch_add(&streams, 1);
    atomic_fetch_add(&of->references, 1);
    atomic_store(&it->references, 1);
    it->owner = self;
    it->of = of;
    it->number = number;
    it->limit = limits[rand_r(&self->seed) % 4];
    it->route = number && chance(self, 8) ? some_route(self) : keep_route(of->route);
    if (number) {
        memcpy(it->status, statuses[rand_r(&self->seed) % 5], sizeof it->status);
        it->pieces = rand_r(&self->seed) % 4;
        of->attempts[number - 1] = it;
        of->attempt_count++;
    } else {
        of->manager = it;
    }
    it->module = HOOK(new)(number ? cluster_filter : manager_filter, it);
    HOOK(request_headers)(it, it->module, of->request_ended);
}

static void begin(worker *self, int slot) {
    request *it = calloc(1, sizeof *it);
    atomic_fetch_add(&requests, 1);
    atomic_store(&it->references, 1);
    it->owner = self;
    it->route = chance(self, 16) ? NULL : some_route(self);
    it->internal = chance(self, 16);
    it->mirrored = it->internal && chance(self, 2);
    it->grpc = chance(self, 4);
    it->connect = chance(self, 8);
    it->request_ended = !chance(self, 3);
    self->slots[slot] = it;
    if (!it->internal && !chance(self, 8))
        begin_stream(it, 0);
}

/* The next piece of an attempt's response. */
static void feed(stream *it) {
    worker *self = it->owner;
    if (!it->begun) {
        receive(it, HEADERS, 0, it->pieces == 0);
    } else if (it->pieces > 1) {
        it->pieces--;
        receive(it, BODY, 1 + rand_r(&self->seed) % (PIECE - 1), false);
    } else if (chance(self, 3)) {
        receive(it, TRAILERS, 0, true);
    } else {
        receive(it, BODY, rand_r(&self->seed) % PIECE, true);
    }
}

/* A stream that is alone may end late, wherever its last reference is dropped. */
static void end_stream(stream *it) {
    request *of = it->of;
    bool alone = it == of->manager ? true : of->manager == NULL;
    for (int i = 0; i < ATTEMPTS; i++) {
        alone &= of->attempts[i] == NULL || of->attempts[i] == it;
        if (of->attempts[i] == it)
            of->attempts[i] = NULL;
    }
    if (of->manager == it)
        of->manager = NULL;
    it->over = it->ended = true;
    if (!alone || !chance(it->owner, 4))
        destroy_module(it);
    drop(it);
}

static void end_request(request *it) {
    bool manager_first = !chance(it->owner, 4);
    if (it->ended)
        return;
    it->ended = true;
    if (manager_first && it->manager != NULL)
        end_stream(it->manager);
    for (int i = 0; i < ATTEMPTS; i++)
        if (it->attempts[i] != NULL)
            end_stream(it->attempts[i]);
    if (it->manager != NULL)
        end_stream(it->manager);
}

static void end_of_request(stream *it, bool with_trailers) {
    if (it == NULL || it->over)
        return;
    if (with_trailers)
        HOOK(request_trailers)(it, it->module);
    else
        HOOK(request_body)(it, it->module, true);
}

static void step(request *it) {
    worker *self = it->owner;
    stream *attempt = it->attempts[rand_r(&self->seed) % ATTEMPTS];
    bool idle = true;
    for (int i = 0; i < ATTEMPTS; i++)
        idle &= it->attempts[i] == NULL;
    if (chance(self, 512)) {
        end_request(it); /* the client leaves */
    } else if (it->pauses > 0 ? chance(self, 4) : chance(self, 32)) {
        if (it->pauses > 0)
            resume_client(it);
        else
            pause_client(it);
    } else if (!it->request_ended && chance(self, 8)) {
        bool with_trailers = chance(self, 4);
        it->request_ended = true;
        end_of_request(it->manager, with_trailers);
        for (int i = 0; i < ATTEMPTS; i++)
            end_of_request(it->attempts[i], with_trailers);
    } else if (idle && it->manager == NULL && it->attempt_count > 0 && !it->retries) {
        end_request(it);
    } else if (!it->answered && it->attempt_count < ATTEMPTS && (idle || (it->request_ended && chance(self, 32)))) {
        it->retries = false;
        begin_stream(it, (uint64_t)it->attempt_count + 1);
    } else if (attempt != NULL && !attempt->over && !attempt->complete && chance(self, 2)) {
        feed(attempt);
    }
}

static void run_posted(worker *self) {
    pthread_mutex_lock(&self->lock);
    event *posted = self->posted;
    self->posted = NULL;
    pthread_mutex_unlock(&self->lock);
    while (posted != NULL) {
        event *it = posted;
        posted = it->next;
        if (!it->of->ended) {
            HOOK(scheduled)(it->of, it->of->module, it->id);
            atomic_fetch_add(&resumed, it->id == EVENT_RESUMED);
        }
        drop(it->of);
        free(it);
    }
}

static void finish(worker *self, int slot) {
    end_request(self->slots[slot]);
    drop_request(self->slots[slot]);
    self->slots[slot] = NULL;
}

static void *work(void *argument) {
    worker *self = argument;
    while (!atomic_load(&over)) {
        int slot = rand_r(&self->seed) % SLOTS;
        if (self->slots[slot] == NULL)
            begin(self, slot);
        else if (self->slots[slot]->ended)
            finish(self, slot);
        else
            step(self->slots[slot]);
        run_posted(self);
    }
    for (int slot = 0; slot < SLOTS; slot++)
        if (self->slots[slot] != NULL)
            finish(self, slot);
    return NULL;
}

/* -- configurations */

static route *new_route(unsigned number) {
    static const char *const latencies[] = {"0s", "1us"};
    char json[512], expires[64] = "";
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (number % 4 == 3) {
        struct tm parts;
        time_t second = now.tv_sec + (now.tv_nsec + 5000000) / 1000000000;
        gmtime_r(&second, &parts);
        snprintf(expires, sizeof expires, ",\"expires_at\":\"%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ\"",
                 parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                 (now.tv_nsec / 1000000 + 5) % 1000);
    }
    snprintf(json, sizeof json,
             "{\"responses\":[{\"status\":200,\"resolution\":5,\"distribution\":{\"p0\":\"%s\",\"p100\":\"%dus\"}},"
             "{\"status\":503,\"resolution\":5,\"distribution\":{\"p0\":\"0s\",\"p100\":\"%dus\"}}],"
             "\"override\":\"%s\",\"label\":\"push-%u\",\"endpoint\":\"e\",\"percent\":%d%s}",
             latencies[number % 2], DUE_US, DUE_US, number % 2 ? "upstream_response" : "local_response", number % 10,
             number % 3 ? 100 : 50, expires);
    route *it = calloc(1, sizeof *it);
    atomic_store(&it->references, 1);
    it->module = HOOK(per_route_config_new)(literal("brownout"), literal(json));
    if (it->module == NULL)
        abort();
    return it;
}

static void push(unsigned number) {
    route *fresh = new_route(number), *old;
    pthread_mutex_lock(&routes_lock);
    old = routes[number % ROUTES];
    routes[number % ROUTES] = fresh;
    pthread_mutex_unlock(&routes_lock);
    drop_route(old);
}

static void halt(bool halted) {
    const char *json = halted ? "{\"halted\":true}" : "{\"halted\":false}";
    HOOK(config_destroy)(HOOK(config_new)(NULL, literal("brownout"), literal(json)));
}

int main(int count, char **arguments) {
    const struct timespec pause = {0, 1000000};
    const unsigned milliseconds = count > 1 ? (unsigned)atol(arguments[1]) : 1000;
    envoy_dynamic_module_on_program_init();
    manager_filter = HOOK(config_new)(NULL, literal("brownout"), literal("{\"endpoints\":[]}"));
    cluster_filter = HOOK(config_new)(NULL, literal("brownout"), literal("{\"endpoints\":[]}"));
    if (manager_filter == NULL || cluster_filter == NULL)
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
        drop_route(routes[i]);
    HOOK(config_destroy)(manager_filter);
    HOOK(config_destroy)(cluster_filter);
    printf("left: in_flight %ld held %ld schedulers %ld streams %ld requests %ld\n", metrics[IN_FLIGHT], metrics[HELD],
           schedulers, streams, requests);
    printf("wrong: errors %ld violations %ld\n", metrics[ERRORS], violations);
    printf("seen: released %d replies %d landed %d handed_over %d relayed %d given_up %d skipped %d resumed %d\n",
           released > 0, replies > 0, landed > 0, handed_over > 0, metrics[RELAYED] > 0, metrics[GIVEN_UP] > 0,
           metrics[SKIPPED] > 0, resumed > 0);
    fflush(stdout);
    _exit(0);
}
