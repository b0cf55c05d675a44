/* What the loader and the engine agree on: the jump table of hooks, and Envoy's types as far as they cross it.
 *
 * The facts (names, argument types, enumerators) are those of Envoy's dynamic module ABI v0.2.0, checked on
 * Envoy 1.38.3, 1.39.3 and 1.40.0. Envoy passes opaque pointers; `envoy` is its object, `module` ours.
 */
#ifndef BROWNOUT_TABLE_H
#define BROWNOUT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names the layout of `brownout_table`; a loader refuses an engine with another tag. Raise it with every change. */
#define BROWNOUT_TABLE_TAG 0x42520002u
/* The Python module that the loader imports, its attribute that carries the table, and the name of that capsule. */
#define BROWNOUT_ENGINE "filter_runtime.embedded"
#define BROWNOUT_ENGINE_HOOKS "hooks"
#define BROWNOUT_TABLE_CAPSULE BROWNOUT_ENGINE "." BROWNOUT_ENGINE_HOOKS

typedef struct {
    const char *data;
    size_t length;
} brownout_buffer;

typedef struct {
    uint32_t tag;  /* BROWNOUT_TABLE_TAG */
    uint32_t size; /* sizeof(brownout_table) */

    const void *(*config_new)(void *envoy, brownout_buffer name, brownout_buffer config);
    void (*config_destroy)(const void *module);
    const void *(*route_config_new)(brownout_buffer name, brownout_buffer config);
    void (*route_config_destroy)(const void *module);

    const void *(*filter_new)(const void *config, void *envoy);
    void (*filter_destroy)(const void *module);
    int (*request_headers)(void *envoy, const void *module, bool end_of_stream);
    int (*request_body)(void *envoy, const void *module, bool end_of_stream);
    int (*request_trailers)(void *envoy, const void *module);
    int (*response_headers)(void *envoy, const void *module, bool end_of_stream);
    int (*response_body)(void *envoy, const void *module, bool end_of_stream);
    int (*response_trailers)(void *envoy, const void *module);
    void (*scheduled)(void *envoy, const void *module, uint64_t event);
    void (*local_reply)(void *envoy, const void *module);
    void (*client_paused)(void *envoy, const void *module);
    void (*client_resumed)(void *envoy, const void *module);
} brownout_table;

#endif
