/* What Envoy resolves in the module: every HTTP filter hook, forwarded to the engine's table.
 *
 * Envoy resolves all of them when it loads a filter configuration, also those that Brownout does not use. No filter
 * exists before a configuration was accepted, and none is accepted without an engine, so the hooks of a stream need
 * no check.
 */
#include "loader.h"

#define HOOK(name) envoy_dynamic_module_on_http_filter_##name

brownout_table brownout_hooks;
static const char *start_error;

/* A callback that came with version 0.2.0 of the ABI (Envoy 1.40); weak, so NULL in an older Envoy. */
extern void envoy_dynamic_module_callback_http_span_set_tag_batch(void) __attribute__((weak));

/* Envoy compares this with its own version, and warns when it differs: what the module uses is the same in both. */
EXPORT const char *envoy_dynamic_module_on_program_init(void) {
    start_error = brownout_start_engine();
    return envoy_dynamic_module_callback_http_span_set_tag_batch != NULL ? "v0.2.0" : "v0.1.0";
}

static bool engine_missing(void) {
    if (start_error != NULL)
        brownout_log_error(start_error);
    return start_error != NULL;
}

EXPORT const void *HOOK(config_new)(void *envoy, brownout_buffer name, brownout_buffer config) {
    return engine_missing() ? NULL : brownout_hooks.config_new(envoy, name, config);
}

EXPORT void HOOK(config_destroy)(const void *module) { brownout_hooks.config_destroy(module); }

EXPORT const void *HOOK(per_route_config_new)(brownout_buffer name, brownout_buffer config) {
    return engine_missing() ? NULL : brownout_hooks.route_config_new(name, config);
}

EXPORT void HOOK(per_route_config_destroy)(const void *module) { brownout_hooks.route_config_destroy(module); }

EXPORT const void *HOOK(new)(const void *config, void *envoy) { return brownout_hooks.filter_new(config, envoy); }

EXPORT void HOOK(destroy)(const void *module) { brownout_hooks.filter_destroy(module); }

EXPORT int HOOK(request_headers)(void *envoy, const void *module, bool end_of_stream) {
    return brownout_hooks.request_headers(envoy, module, end_of_stream);
}

EXPORT int HOOK(request_body)(void *envoy, const void *module, bool end_of_stream) {
    return brownout_hooks.request_body(envoy, module, end_of_stream);
}

EXPORT int HOOK(request_trailers)(void *envoy, const void *module) {
    return brownout_hooks.request_trailers(envoy, module);
}

EXPORT int HOOK(response_headers)(void *envoy, const void *module, bool end_of_stream) {
    return brownout_hooks.response_headers(envoy, module, end_of_stream);
}

EXPORT int HOOK(response_body)(void *envoy, const void *module, bool end_of_stream) {
    return brownout_hooks.response_body(envoy, module, end_of_stream);
}

EXPORT int HOOK(response_trailers)(void *envoy, const void *module) {
    return brownout_hooks.response_trailers(envoy, module);
}

EXPORT void HOOK(scheduled)(void *envoy, const void *module, uint64_t event) {
    brownout_hooks.scheduled(envoy, module, event);
}

EXPORT int HOOK(local_reply)(void *envoy, const void *module, uint32_t status, brownout_buffer details, bool reset) {
    (void)status, (void)details, (void)reset;
    brownout_hooks.local_reply(envoy, module);
    return 0; /* send it */
}

EXPORT void HOOK(downstream_above_write_buffer_high_watermark)(void *envoy, const void *module) {
    brownout_hooks.client_paused(envoy, module);
}

EXPORT void HOOK(downstream_below_write_buffer_low_watermark)(void *envoy, const void *module) {
    brownout_hooks.client_resumed(envoy, module);
}

/* Unused: never called for what Brownout does (a cluster's filters never see `stream_complete`), or of no consequence. */
EXPORT void HOOK(stream_complete)(void *envoy, const void *module) { (void)envoy, (void)module; }

EXPORT void HOOK(http_callout_done)(void *envoy, const void *module, uint64_t id, int result, void *headers,
                                    size_t header_count, void *chunks, size_t chunk_count) {
    (void)envoy, (void)module, (void)id, (void)result;
    (void)headers, (void)header_count, (void)chunks, (void)chunk_count;
}

EXPORT void HOOK(http_stream_headers)(void *envoy, const void *module, uint64_t id, void *headers, size_t count,
                                      bool end_of_stream) {
    (void)envoy, (void)module, (void)id, (void)headers, (void)count, (void)end_of_stream;
}

EXPORT void HOOK(http_stream_data)(void *envoy, const void *module, uint64_t id, const void *chunks, size_t count,
                                   bool end_of_stream) {
    (void)envoy, (void)module, (void)id, (void)chunks, (void)count, (void)end_of_stream;
}

EXPORT void HOOK(http_stream_trailers)(void *envoy, const void *module, uint64_t id, void *trailers, size_t count) {
    (void)envoy, (void)module, (void)id, (void)trailers, (void)count;
}

EXPORT void HOOK(http_stream_complete)(void *envoy, const void *module, uint64_t id) {
    (void)envoy, (void)module, (void)id;
}

EXPORT void HOOK(http_stream_reset)(void *envoy, const void *module, uint64_t id, int reason) {
    (void)envoy, (void)module, (void)id, (void)reason;
}
