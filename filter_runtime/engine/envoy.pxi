# The half that Envoy calls: what it includes needs, and the table that the loader takes.

from datetime import datetime, timedelta, timezone

from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport INT64_MAX
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp

from filter_runtime.engine.abi cimport (
    BUFFERED_RESPONSE_BODY, CONNECTION_ID, CONTINUE, LOG_ERROR, LOG_INFO, RECEIVED_RESPONSE_BODY, REQUEST_HEADERS,
    REQUEST_HOST, REQUEST_METHOD, RESET_REFUSED, RESPONSE_HEADERS, STOP, STOP_AND_DROP, STOP_AND_KEEP, TABLE_CAPSULE,
    TABLE_TAG, UPSTREAM_ADDRESS, UPSTREAM_ATTEMPT, buffer_t, c_bool, continue_encoding, define_counter, define_gauge,
    define_histogram, drain_body, envoy_log, get_attribute, get_body_size, get_buffer_limit, get_header, get_number,
    knows_attempts, reset_stream, route_config, scheduler_commit, scheduler_delete, scheduler_new, set_buffer_limit,
    set_header, table_t, text, worker_index
)
from filter_runtime.engine.atomic cimport store_signed
from filter_runtime.engine.headers cimport (
    add_to_response, add_to_span, describe, drop_fields, fields_t, mark_response, survey, take_mark
)
from filter_runtime.engine.heap cimport heap_add, heap_remove, heap_t
from filter_runtime.engine.metrics cimport (
    CLASSED, DELAYED, ERRORS, EXPIRED, INJECTED, SKIPPED, SKIPPED_EARLY, SKIPPED_TRAILERS, SKIPPED_UPGRADE,
    STATUS_CLASSES, count, count_class, filter_config_t, lower_gauge, raise_gauge, record_us
)
from filter_runtime.engine.relay cimport relay
from filter_runtime.engine.reply cimport is_grpc, send_reply
from filter_runtime.engine.requests cimport (
    chain_is_created, chain_number, has_rival, join_request, leave_request, manager_of, next_of_request, next_rival
)
from filter_runtime.engine.rewrite cimport AT_END, AT_HEADERS, HELD, rewrite_body, rewrite_headers, rewrite_trailers
from filter_runtime.engine.rng cimport unit
from filter_runtime.engine.rule cimport (
    condition_t, config_forget, config_release, config_retain, config_revive, config_t, first_match, rule_t
)
from filter_runtime.engine.rules cimport (
    AWAIT_UNPAUSED, GIVE_UP_ERRORS, HAND_OVER_EARLY, HAND_OVER_OVERSIZED, KEEP_LITTLE, LAND_COMPLETE, MAKE_ROOM,
    RELAY_ALONE, REPLACE_IN_PLACE, SETTLE_SUCCESSES, SKIP_EARLY_ALONE, SKIP_TRAILERS_ALONE, applies
)
from filter_runtime.engine.state cimport in_flight_enter, in_flight_leave
from filter_runtime.engine.stream cimport (
    AS_IT_IS, AWAIT_CLIENT, AWAIT_RIVALS, DESCRIBED, ENDING, GO, HOLDING, IN_CLUSTER, IN_MANAGER, LAND, LANDING, LAPSED,
    NOT_IN_HEAP, PASSING, PAUSED, RELAY, REPLACED, RESET, REWRITING, REWRITTEN, TIMER_ARMED, TIMER_CANCELLED,
    TIMER_FIRED, TIMER_FIRING, WAITING, assist_t, stream_new, stream_release, stream_t, timer_t
)
from filter_runtime.engine.sync cimport (
    CLOCK_MONOTONIC, CLOCK_REALTIME, clock_ns, give_way, is_empty, precise_thread, push, read_word, replace_word,
    sleep_until, start_thread, take_all, ticket, wake, write_word
)
from filter_runtime.engine.worker cimport (
    at_thread_ends, await_thread_end, become_timer_thread, on_main_thread, on_timer_thread, thread_rng
)

include "configs.pxi"
include "timers.pxi"
include "request.pxi"
include "decisions.pxi"
include "delivery.pxi"
include "hold.pxi"
include "manager.pxi"
include "response.pxi"
include "table.pxi"
