# The half that Envoy calls: what it includes needs, and the table that the loader takes.

from datetime import datetime, timedelta, timezone

from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport INT64_MAX
from libc.stdlib cimport calloc, free

from filter_runtime.engine.abi cimport (
    BUFFERED_RESPONSE_BODY, CONTINUE, LOG_ERROR, RECEIVED_RESPONSE_BODY, REQUEST_PROTOCOL, RESET_REFUSED,
    RESPONSE_CODE, STOP, STOP_AND_DROP, STOP_AND_KEEP, TABLE_CAPSULE, TABLE_TAG, buffer_t, c_bool,
    continue_encoding, define_counter, define_gauge, define_histogram, drain_body, envoy_log, get_attribute,
    get_body_size, get_buffer_limit, get_number, reset_stream, route_config, scheduler_commit, scheduler_delete,
    scheduler_new, table_t, text, worker_index
)
from filter_runtime.engine.attempts cimport attempt_begins, attempt_ends, has_rival
from filter_runtime.engine.headers cimport add_to_response, add_to_span, describe, drop_fields, fields_t, survey
from filter_runtime.engine.heap cimport heap_add, heap_remove, heap_t
from filter_runtime.engine.metrics cimport (
    CLASSED, DELAYED, ERRORS, EXPIRED, INJECTED, SKIPPED, STATUS_CLASSES, count, count_class, filter_config_t,
    lower_gauge, raise_gauge, record_us
)
from filter_runtime.engine.relay cimport relay
from filter_runtime.engine.reply cimport entry_of, is_grpc, send_reply
from filter_runtime.engine.rewrite cimport rewrite_body, rewrite_headers, rewrite_trailers
from filter_runtime.engine.rng cimport unit
from filter_runtime.engine.rule cimport (
    condition_t, config_forget, config_release, config_retain, config_revive, config_t, first_match, rule_t
)
from filter_runtime.engine.state cimport in_flight_enter, in_flight_leave
from filter_runtime.engine.stream cimport (
    HOLDING, LAPSED, NOT_IN_HEAP, PASSING, REWRITING, TIMER_ARMED, TIMER_CANCELLED, TIMER_FIRED, TIMER_FIRING,
    WAITING, stream_new, stream_release, stream_t, timer_t
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
include "hooks.pxi"
include "response.pxi"
include "hold.pxi"
include "table.pxi"
