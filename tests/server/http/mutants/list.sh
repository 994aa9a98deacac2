# shellcheck shell=bash
# The mutants. tests/support/mutants.sh says how a fault is written. After a fault stands TEST: a file of
# tests/cli/serve, and the test in it that must notice the fault.

# ---- who may ask ----

mutant password_is_compared_in_part src/server/core/admit.c \
    'unsigned differs = size [-!=-]{+<+} password.size;' 'test_http Guards.test_passwords'
mutant metrics_need_no_password src/server/http/routes.c \
    '{"/metrics", ELAPSE__HTTP_METRICS, false, [-false-]{+true+}},' 'test_http Guards.test_passwords'
mutant metrics_need_no_right src/server/http/http.c \
    'return [-operation < ELAPSE__HTTP_PUT-]{+operation == ELAPSE__HTTP_EVENTS+};' 'test_users Http.test_tubes'
mutant user_is_taken_for_default src/server/http/call.c \
    '(void)elapse__admit_token(&keys, token, &name, &password, &who);{+
        name = (struct elapse__wire_resp_argument){.size = 0};+}' 'test_users Http.test_tubes'
mutant number_of_an_address_is_too_great src/server/http/guard.c \
    'value > [-255-]{+256+}' 'test_http Guards.test_names_of_the_server'
mutant any_page_may_ask src/server/http/guard.c \
    'if (strlen(origin) > length && is_word(origin, length, schemes[i])[- &&
            is_word(origin + length, strlen(origin + length), host)-])' \
    'test_http Guards.test_pages_of_others_ask_for_nothing'
mutant form_is_taken_for_json src/server/http/guard.c \
    'return [-is_word(content_type, size, "application/json")-]{+size > 0+};' \
    'test_http Guards.test_changes_are_json'

# ---- strangers ----

mutant two_hosts_are_taken src/server/http/intake.c \
    'return [-++found->hosts == 1-]{+true+};' \
    'test_http Strangers.test_heads_that_a_proxy_may_read_differently'
mutant blank_before_a_colon_is_taken src/server/http/intake.c \
    '[- || is_blank(colon[-1])-])' 'test_http Strangers.test_heads_that_a_proxy_may_read_differently'
mutant nul_in_a_head_is_taken src/server/http/intake.c \
    "[-memchr(head, '\\0', size) != NULL-]{+size == 0+}" \
    'test_http Strangers.test_heads_that_a_proxy_may_read_differently'
mutant announced_body_is_read_first src/server/http/intake.c \
    'return found.length [-> body_bytes_max-]{+== UINT64_MAX+} ?' \
    'test_http Strangers.test_a_body_that_is_too_long_is_refused_before_it_comes'
mutant chunks_have_no_end src/server/http/intake.c \
    '[-fault == ELAPSE__HTTP_WELL && intake->is_chunked-]{+false+} &&' \
    'test_http Strangers.test_a_body_that_is_too_long_is_refused_before_it_comes'
mutant head_has_the_time_of_a_body src/server/http/stream.c \
    'phase == ELAPSE__HTTP_HEAD_COMES ? [-ELAPSE__HTTP_HEAD_MS-]{+ELAPSE__HTTP_BODY_MS+}' \
    'test_http_slow Slow.test_requests_that_drip_are_ended'
mutant body_has_the_time_of_a_head src/server/http/stream.c \
    ': [-ELAPSE__HTTP_BODY_MS-]{+ELAPSE__HTTP_HEAD_MS+});' \
    'test_http_slow Slow.test_requests_that_drip_are_ended'
mutant one_address_takes_all src/server/http/stream.c \
    'return [-wide >= most || (same >= most / ELAPSE__HTTP_SHARE && same > 0)-]{+false+};' \
    'test_http Strangers.test_health_is_answered_when_one_address_has_its_share'
mutant narrow_ones_stay src/server/http/stream.c \
    'narrow > [-elapse__http_narrow_max(http)-]{+UINT32_MAX+}; i = next)' \
    'test_http Strangers.test_health_is_answered_when_one_address_has_its_share'
mutant fault_behind_a_request_is_forgotten src/server/http/stream.c \
    '    [-stream->fault = -]{+(void)+}note(stream, 0);' \
    'test_http Strangers.test_a_request_behind_another_one_is_refused_in_its_turn'

mutant wrong_password_is_answered_at_once src/server/http/http.c \
    '[-elapse__http_bearer(authorization) != NULL-]{+false+});' \
    'test_http Guards.test_wrong_passwords_are_slow_and_counted'
mutant others_may_read_a_password src/os/linux_program_read.c \
    '[-S_IROTH | -]S_IWOTH' 'test_serve_secrets Passwords.test_files_that_others_can_read'
mutant recorded_sessions_can_be_read src/server/loop/tls.c \
    'DEFAULT[-:!kRSA:!PSK:!SRP-]' 'test_serve_secrets Tls.test_sessions_have_keys_of_their_own'

# ---- requests ----

mutant head_is_refused src/server/http/routes.c \
    'method == ELAPSE__HTTP_GET[- || method == ELAPSE__HTTP_HEAD-]' \
    'test_http Paths.test_headers_of_each_answer'
mutant longest_body_is_too_long src/server/http/translate.c \
    'json_string_length(plain) >{+=+} building->request->body_bytes_max' \
    'test_http Paths.test_a_request_that_is_too_big'
mutant one_value_too_many src/server/http/building.c \
    'json_array_size(value) <= ELAPSE__HTTP_ITEMS_MAX{+ + 1+}' \
    'test_http_api Operations.test_arguments_that_are_wrong'
mutant unknown_member_is_ignored src/server/http/building.c \
    'if (i [-==-]{+>+} building->name_count && ' 'test_http_api Operations.test_arguments_that_are_wrong'
mutant second_value_of_a_query_counts src/server/http/members.c \
    'if ([-json_object_get(members, text) != NULL-]{+false+})' \
    'test_http_api Operations.test_arguments_that_are_wrong'
mutant cancel_all_has_no_tube src/server/http/translate.c \
    'elapse__build_word(building, "CANCELALL") &&[- elapse__build_tube(building) &&-]' \
    'test_http_api Operations.test_many'

# ---- answers ----

mutant head_has_a_body src/server/http/reply.c \
    'add_length(request, size);
    [-else -]if (' 'test_http Paths.test_head_answers_have_no_body'
mutant control_character_has_no_escape src/base/json_escape.c \
    'byte[- >= 0x20 && byte-]' 'test_http_api Operations.test_put_and_look'
mutant id_is_a_number src/server/http/answer.c \
    '[-elapse__field_kind_of(key.bytes, key.size) == ELAPSE__FIELD_ID-]{+false+}' \
    'test_http_api Operations.test_put_and_look'
mutant full_tube_is_a_bad_argument src/server/http/answer.c \
    '{"LIMIT", "LIMIT", [-429-]{+400+}}' 'test_http_api Limits.test_a_full_tube'

# ---- figures ----

mutant metric_has_another_unit src/server/http/metrics.c \
    '(double)server->uptime_ms[- / 1e3-]' 'test_http_figures Metrics.test_counts'
mutant lateness_has_another_unit src/server/http/metrics.c \
    'metrics->lateness, 0, 24, [-1e3-]{+1e6+},' 'test_http_figures Metrics.test_histograms_add_up'
mutant scrape_stops_at_the_limit_of_counts src/server/http/scrape.c \
    'write_tube, scrape) &&{+ scrape->tube_count < METRIC_TUBES_MAX &&+}' \
    'test_http_figures Metrics.test_tubes_in_trouble_among_more_than_have_counts'
mutant first_event_is_lost src/server/http/events.c \
    'if ([-client->has_begun && -]is_behind(client)) {' \
    'test_http_figures Events.test_the_first_event_comes_at_once'
mutant long_forecast_never_ends src/server/http/events.c \
    '[-client->long_s = (client->long_s + 1) % LONG_FORECAST_S;-]' \
    'test_http_figures Events.test_the_first_event_and_the_next'
