# From Envoy's configuration bytes to a compiled `config_t`, on Envoy's main thread under the GIL.
#
# Envoy builds every route's configuration anew on each RDS push, mostly from bytes that it has sent before: a
# configuration is found by its bytes before anything is parsed. The cache keeps no configuration alive, and forgets
# those that are gone before it doubles.

cdef enum:
    CONFIGS_KEPT = 256

cdef dict _configs = {}  # (loader, bytes) -> address of a config_t, one weak reference each
cdef Py_ssize_t _configs_swept = 0  # how many the last sweep left


cdef config_t* config_get(object load, bytes raw) except NULL:
    """Return a new reference to the compiled form of `load(raw)`, a `FilterConfig` or a `RouteConfig`."""
    global _configs_swept
    cdef object key = (load, raw)
    cdef object known = _configs.get(key)
    cdef config_t* config
    if known is not None:
        config = <config_t*><size_t>known
        if config_revive(config):
            return config
        del _configs[key]
        config_forget(config)
    config = _config_compile(load(raw))
    if len(_configs) >= 2 * _configs_swept + CONFIGS_KEPT:
        _sweep_configs()
        _configs_swept = len(_configs)
    references_add(&config.weak_references)
    _configs[key] = <size_t>config
    return config


cdef int _sweep_configs() except -1:
    cdef object key, address
    cdef config_t* config
    for key, address in list(_configs.items()):
        config = <config_t*><size_t>address
        if references_count(&config.references) == 0:
            del _configs[key]
            config_forget(config)
    return 0


cdef config_t* _config_compile(object parsed) except NULL:
    cdef list rules = []
    cdef object endpoints = getattr(parsed, "endpoints", None)
    cdef object direct = getattr(parsed, "direct", parsed)
    cdef object same = None if direct is parsed else {}
    cdef size_t size, conditions
    cdef config_t* config
    cdef char* text_at
    cdef condition_t* condition_at
    if endpoints is not None:
        rules = [(entry.match, entry.behavior, entry.binding) for entry in endpoints]
    elif direct is not None:
        rules = [(None, direct.behavior, direct.binding)]
    rules = [_rule_texts(match, behavior, binding, same) for match, behavior, binding in rules]
    conditions = sum([len(rule.conditions) for rule in rules])
    size = sizeof(config_t) + len(rules) * sizeof(rule_t) + conditions * sizeof(condition_t)
    size += sum([_text_size(rule) for rule in rules])
    config = <config_t*>calloc(1, size)
    if config == NULL:
        raise MemoryError
    config.references = 1
    config.weak_references = 1
    config.halted = getattr(parsed, "halted", False)
    config.rules = <rule_t*>(config + 1)
    condition_at = <condition_t*>(config.rules + len(rules))
    text_at = <char*>(condition_at + conditions)
    try:
        for rule in rules:
            _rule_fill(config, rule, &condition_at, &text_at)
    except BaseException:
        config_release(config)
        raise
    return config


# A rule before it is memory; texts are bytes or None, conditions pairs of them.
_RuleTexts = namedtuple("_RuleTexts", ("behavior", "binding", "prefix", "exact", "conditions", "label", "place"))


# `same` counts the entries without an id by their match; a route has none, since Envoy hands over its bytes and not where
# they stand.
cdef object _rule_texts(object match, object behavior, object binding, dict same):
    cdef bytes place = b""
    cdef tuple conditions = ()
    cdef object prefix = None, exact = None
    if match is not None:
        prefix, exact = _encoded(match.prefix), _encoded(match.exact)
        conditions = tuple([_condition_texts(condition) for condition in match.headers])
    if binding.endpoint is not None:
        place = place_named(binding.endpoint)
    elif same is not None:
        key = (prefix, exact, tuple(sorted(set(conditions), key=repr)))
        place = place_matching(key, same.get(key, 0))
        same[key] = same.get(key, 0) + 1
    return _RuleTexts(behavior, binding, prefix, exact, conditions, _encoded(binding.label), place)


cdef tuple _condition_texts(object condition):
    cdef bytes name = condition.name.lower().encode()
    return (b":authority" if name == b"host" else name, _encoded(condition.exact_match))


cdef object _encoded(object text):
    return None if text is None else text.encode()


cdef Py_ssize_t _text_size(object rule):
    cdef object texts = (
        rule.prefix, rule.exact, rule.label, *[text for condition in rule.conditions for text in condition]
    )
    return sum([len(text) + 1 for text in texts if text is not None])


cdef buffer_t _text_copy(object text, char** at) except *:
    cdef buffer_t copy = buffer_t(data=NULL, length=0)
    if text is not None:
        copy.data = at[0]
        copy.length = len(text)
        memcpy(at[0], <const char*><bytes>text, copy.length + 1)
        at[0] += copy.length + 1
    return copy


cdef int _rule_fill(config_t* config, object source, condition_t** condition_at, char** text_at) except -1:
    cdef object binding = source.binding, name, value
    cdef rule_t* rule = config.rules + config.rule_count
    cdef behavior_t* compiled
    rule.match.prefix = _text_copy(source.prefix, text_at)
    rule.match.exact = _text_copy(source.exact, text_at)
    rule.match.conditions = condition_at[0]
    for name, value in source.conditions:
        condition_at[0].name = _text_copy(name, text_at)
        condition_at[0].value = _text_copy(value, text_at)
        condition_at[0] += 1
        rule.match.condition_count += 1
    rule.label = _text_copy(source.label, text_at)
    rule.share = binding.percent / 100.0
    rule.expires_at = _wall_ns(binding.expires_at)
    rule.headers = binding.headers
    compiled = behavior_build(source.behavior)
    try:
        rule.state = state_get(source.place, compiled)
    except BaseException:
        behavior_release(compiled)
        raise
    rule.behavior = compiled
    config.rule_count += 1
    return 0


cdef int64_t _wall_ns(object moment) except? -1:
    # By whole microseconds: a float of seconds since 1970 has fewer digits than that.
    if moment is None:
        return INT64_MAX
    return (moment - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1) * 1000
