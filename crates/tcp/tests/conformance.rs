//! The tests that `docs/conformance.md` names: each runs the wire scripts that show one row.

#[expect(dead_code, reason = "the rest of it serves the test of all scripts")]
mod script;

macro_rules! shown_by {
    ($(fn $name:ident() { $($path:literal)+ })*) => {$(
        #[test]
        fn $name() {
            $(hold($path, include_str!(concat!("scripts/", $path, ".script")));)+
        }
    )*};
}

fn hold(path: &str, source: &str) {
    if let Err(failure) = script::run_text(source) {
        panic!("{path}.script:{failure}");
    }
}

shown_by! {
    // Opening.
    fn a_peer_without_mss_option_gets_536() {
        "handshake/no_mss_option_means_536"
        "handshake/no_mss_option_means_1220_on_ipv6"
        "handshake/a_silly_mss_counts_as_64"
    }
    fn data_on_a_syn_is_left_to_be_sent_again() { "handshake/data_on_a_syn_is_not_taken" }
    fn a_listener_answers_an_ack_alone() {
        "reset/a_listener_drops_what_is_neither_syn_nor_ack"
    }
    fn cookies_replace_half_open_connections() {
        "syn_cookies/a_cookie_keeps_what_a_half_open_connection_would"
        "syn_cookies/data_on_the_syn_is_left_to_be_sent_again"
        "syn_cookies/a_lost_syn_ack_is_not_sent_again"
        "syn_cookies/the_round_trip_of_a_cookie_is_not_measured"
    }
    fn without_timestamps_a_cookie_keeps_the_mss_alone() {
        "syn_cookies/without_timestamps_scaling_and_sack_are_lost"
        "syn_cookies/what_is_not_offered_is_not_kept"
        "syn_cookies/ipv6_without_an_mss_is_1220"
    }
    fn a_cookie_is_valid_for_one_to_two_minutes() {
        "syn_cookies/a_cookie_is_valid_for_a_minute"
        "syn_cookies/a_cookie_is_not_valid_for_two_minutes"
        "syn_cookies/an_ack_that_is_no_cookie_is_reset"
    }
    fn simultaneous_opens_meet() {
        "handshake/simultaneous_open"
        "handshake/simultaneous_open_ended_by_a_plain_ack"
        "handshake/simultaneous_open_does_not_scale_the_window_of_the_syn"
        "reset/in_syn_received_after_an_active_open_it_closes"
    }
    fn syn_received_remembers_where_it_came_from() {
        "reset/in_syn_received_it_returns_to_listen"
        "handshake/another_syn_in_the_window_returns_to_listen"
    }

    // Closing.
    fn close_ends_one_direction_and_abort_tells_of_lost_data() {
        "close/half_close_receives_on"
        "close/data_for_a_reader_who_is_gone_is_reset"
    }
    fn fin_wait_2_lasts() { "close/nothing_but_the_peer_ends_fin_wait_2" }
    fn abort_resets_only_who_may_still_send() {
        "reset/aborting_resets"
        "reset/aborting_what_is_all_but_closed_sends_nothing"
        "reset/aborting_a_listener_closes_it"
        "zero_window/an_abort_resets_at_the_edge"
        "zero_window/an_abort_in_the_handshake_counts_the_syn"
    }
    fn a_fin_cannot_precede_data() { "close/a_fin_below_what_arrived_is_not_believed" }
    fn time_wait_is_restarted_by_a_fin_alone() {
        "time_wait/a_retransmitted_fin_restarts_2_msl"
        "time_wait/a_second_fin_is_acknowledged"
        "time_wait/an_old_duplicate_is_answered_and_does_not_restart_2_msl"
    }
    fn time_wait_ends_by_an_exact_reset() {
        "time_wait/an_exact_reset_ends_it"
        "time_wait/an_inexact_reset_does_not"
    }
    fn resets_in_time_wait_may_be_ignored() {
        "rfc1337/h1_after_an_assassination_old_data_is_delivered"
        "rfc1337/h1_no_old_data_if_resets_are_ignored"
        "close_swap/a_peer_that_ignores_it_waits_too"
    }
    fn nothing_ends_a_wait_that_the_peer_relies_on() {
        "close_swap/no_reset_ends_what_was_taken_over"
        "negotiated_close/no_reset_ends_the_holders_wait"
        "rfc1337/an_old_syn_after_a_swap_meets_who_waits"
    }
    fn a_passive_closer_may_take_time_wait_over() {
        "close_swap/the_passive_closer_resets_and_waits"
        "close_swap/the_other_end_is_released"
        "close_swap/an_active_close_is_an_ordinary_one"
    }
    fn the_ends_may_agree_who_waits() {
        "negotiated_close/the_client_holds_it_and_closes_second"
        "negotiated_close/the_server_need_not_wait"
        "negotiated_close/absent_means_ordinary"
        "negotiated_close/a_promise_that_the_fin_does_not_repeat_is_not_relied_on"
        "negotiated_close/both_open_at_once_and_nothing_is_agreed"
        "negotiated_close/an_agreement_outlasts_a_later_choice"
    }
    fn who_is_to_wait_does_so_after_a_reset_too() {
        "close_swap/a_peer_that_has_restarted"
        "negotiated_close/a_lost_last_ack_is_answered_by_a_reset_and_the_holder_waits"
        "negotiated_close/a_reset_while_both_close_leaves_the_holder_waiting"
    }
    fn a_syn_reopens_time_wait() {
        "time_wait/a_higher_sequence_number_reopens"
        "time_wait/a_newer_timestamp_reopens_whatever_the_sequence_number"
        "time_wait/with_an_equal_timestamp_the_sequence_number_decides"
        "time_wait/an_old_duplicate_syn_does_not_reopen"
    }

    // What an attacker may send.
    fn only_the_exact_number_resets() {
        "reset/the_exact_number_resets"
        "reset/another_number_in_the_window_is_challenged"
    }
    fn a_syn_out_of_place_is_challenged() {
        "reset/a_syn_in_a_synchronized_state_is_challenged"
        "timestamps/a_syn_without_one_is_challenged"
    }
    fn an_ack_out_of_range_is_challenged() { "reset/an_ack_of_what_was_never_sent_is_challenged" }
    fn challenges_are_rationed() {
        "reset/challenges_are_rationed"
        "reset/an_exchange_of_bare_acks_ends"
    }

    // Waiting for the peer.
    fn a_syn_is_sent_for_three_minutes() {
        "retransmission/a_syn_is_sent_for_three_minutes"
        "retransmission/the_connection_is_given_up"
    }
    fn who_takes_over_may_give_up() { "close_swap/a_peer_that_answers_no_more_is_given_up" }
    fn an_idle_connection_sends_nothing() { "retransmission/an_idle_connection_sends_nothing" }
    fn a_fin_does_not_wait_for_the_window() { "close/linux_sends_the_fin_behind_a_full_window" }
    fn a_closed_window_is_probed_for_ever() {
        "zero_window/probes_back_off_and_never_give_up_an_answering_peer"
        "zero_window/a_fin_is_not_given_up_either"
    }
    fn a_shrinking_window_is_survived() { "zero_window/a_window_that_shrinks_under_the_flight" }
    fn urgent_data_is_delivered_in_line() { "urgent/it_is_delivered_in_line_and_said_so" }

    // Small segments and windows.
    fn small_pieces_wait() {
        "silly_window/the_sender_waits_for_more_than_a_silly_piece"
        "silly_window/half_of_the_largest_window_is_not_silly"
        "silly_window/the_receiver_opens_the_window_by_a_full_segment_or_half_its_buffer"
    }
    fn nagle_is_computed_as_each_source_does() {
        "nagle/rfc_holds_the_tail_of_a_large_write"
        "nagle/rfc_holds_half_of_the_largest_window"
        "nagle/bsd_asks_once_per_call_whether_it_is_idle"
        "nagle/bsd_sends_half_of_the_largest_window"
        "minshall/the_tail_of_a_large_write_leaves"
        "nagle/closing_flushes"
    }
    fn acks_are_delayed_as_each_source_does() {
        "delayed_ack/every_second_full_segment_is_acknowledged_at_once"
        "delayed_ack/bsd_acknowledges_what_is_read"
        "delayed_ack/bsd_takes_two_segments_of_the_agreed_size"
        "quick_ack/more_than_one_full_segment_is_acknowledged_at_once"
        "delayed_ack/a_prober_withholds_whatever_arrives"
    }
    fn gaps_are_acknowledged_at_once() {
        "delayed_ack/out_of_order_and_gap_filling_segments_are_acknowledged_at_once"
        "delayed_ack/the_segment_that_fills_the_last_gap_is_acknowledged_at_once"
    }

    fn linux_sends_syns_each_second() {
        "handshake/linux_sends_a_lost_syn_again_each_second"
    }
    fn linux_counts_ticks() {
        "quick_ack/the_delay_ends_at_a_tick_of_the_hosts_clock"
        "retransmission/linux_waits_for_200_ms_more_than_the_round_trip"
    }

    // Losses.
    fn a_sack_alone_does_not_restart_the_timer() {
        "retransmission/a_sack_alone_does_not_restart_the_timer"
    }
    fn one_segment_per_round_trip_is_timed() {
        "retransmission/karn_does_not_measure_what_was_sent_twice"
        "retransmission/karn_does_not_measure_what_a_fast_retransmit_sent_twice"
        "timestamps/a_retransmission_can_be_measured"
        "timestamps/one_segment_in_a_round_trip_is_measured"
    }
    fn ssthresh_is_held_for_the_same_segment_alone() {
        "recovery/another_segment_that_times_out_halves_again"
    }
    fn a_window_that_is_not_used_does_not_grow() {
        "recovery/a_window_that_is_not_used_does_not_grow"
        "recovery/a_response_of_one_window_opens_it_further"
        "recovery/a_tail_that_fills_less_than_half_the_window_does_not_open_it"
        "recovery/linux_doubles_a_window_that_one_response_filled"
    }
    fn linux_counts_what_is_delivered() {
        "sack/linux_counts_sacked_bytes_once"
        "sack/what_was_sacked_counts_once_over_a_timeout"
        "sack/what_a_peer_discards_counts_when_it_is_delivered_again"
        "path_mtu/what_was_sacked_counts_once_after_a_report"
        "recovery/linux_opens_the_window_by_all_that_an_ack_covers"
        "recovery/linux_counts_what_duplicates_tell_once"
        "recovery/linux_counts_packets_without_sack"
    }
    fn linux_reduces_the_window_once() {
        "recovery/linux_reduces_the_window_not_the_flight"
        "recovery/linux_reduces_once_for_one_window"
        "recovery/cubic_without_sack_takes_no_inflated_window"
    }
    fn slow_start_may_end_as_in_linux() {
        "hystart/a_train_of_half_a_round_trip_ends_slow_start"
        "hystart/a_gap_ends_the_train"
        "hystart/longer_round_trips_end_slow_start"
    }
    fn the_window_comes_down_in_proportion() {
        "reduction/seven_leave_for_ten_that_arrive"
        "reduction/a_recovery_that_the_reordering_timer_begins_sends_one"
    }
    fn what_was_not_lost_is_taken_back() {
        "undo/eifel_takes_a_recovery_back"
        "undo/eifel_takes_a_partly_repaired_recovery_back"
        "undo/eifel_takes_a_timeout_back"
        "undo/d_sack_takes_a_recovery_back"
        "undo/the_echo_of_the_retransmission_shows_a_loss"
    }
    fn timeouts_are_tested() {
        "frto/data_sent_once_shows_a_spurious_timeout"
        "frto/one_ack_may_show_it_at_once"
        "frto/without_sack_one_ack_shows_nothing"
        "frto/a_sack_for_data_sent_once_shows_it_too"
        "frto/a_duplicate_ack_shows_a_loss"
        "frto/a_sack_of_new_data_shows_a_loss_where_losses_are_found_by_time"
        "frto/what_was_sacked_before_shows_nothing"
        "frto/without_new_data_everything_is_sent_again"
    }
    fn an_unused_window_decays() { "unused_window/linux_takes_it_half_of_the_way_down" }
    fn limited_transmit_leaves_ssthresh_alone() { "recovery/limited_transmit" }
    fn new_reno_is_impatient_and_careful() {
        "recovery/only_the_first_partial_ack_restarts_the_timer"
        "recovery/no_second_repair_for_what_a_time_out_sends_again"
    }
    fn old_controls_stay_old() {
        "recovery/tahoe_goes_back_to_one_segment"
        "recovery/ns_2_s_tahoe_halves_the_window_not_the_flight"
        "recovery/reno_ends_with_the_first_ack_and_waits_for_the_timer"
        "recovery/reno_repairs_a_window_twice"
    }
    fn a_rescue_is_for_the_tail() {
        "sack/only_the_holes_are_sent_again"
        "sack/a_rescue_leaves_the_holes_alone"
    }
    fn a_duplicate_is_news_in_sack_blocks() {
        "sack/an_ack_that_advances_may_announce_a_loss"
        "sack/data_may_carry_the_news"
        "sack/what_lies_below_the_ack_is_no_news"
    }
    fn a_time_out_forgets_the_scoreboard() { "retransmission/after_a_time_out_sack_is_not_believed" }
    fn losses_are_found_by_time() {
        "rack/what_was_sent_before_an_arrived_segment_is_lost_after_a_window"
        "rack/three_segments_above_a_hole_do_not_wait"
        "rack/an_ack_of_an_earlier_write_waits_for_the_next_one"
        "rack/segments_that_overtake_each_other_are_not_sent_again"
        "rack/a_lost_retransmission_is_sent_a_third_time"
        "rack/a_dsack_widens_the_window"
        "rack/a_dsack_without_reordering_changes_nothing"
        "rack/after_a_timeout_only_what_is_missing_is_sent_again"
        "rack/half_a_segment_is_not_delivered"
    }
    fn tail_losses_are_probed_for() {
        "tail_loss_probe/a_probe_finds_the_loss_of_the_tail"
        "tail_loss_probe/a_single_segment_is_given_the_time_of_a_delayed_ack"
        "tail_loss_probe/new_data_is_the_better_probe"
        "tail_loss_probe/a_probe_in_vain_costs_nothing"
        "tail_loss_probe/at_most_one_is_out"
        "tail_loss_probe/a_probe_takes_the_place_of_the_timeout"
        "tail_loss_probe/not_without_sack"
    }
    fn recent_blocks_are_repeated() {
        "sack/the_block_that_arrived_last_comes_first"
        "sack/the_most_recent_blocks_are_repeated"
        "sack/what_arrives_twice_is_reported_once"
    }

    // Path MTU.
    fn a_smaller_path_mtu_is_learnt() {
        "path_mtu/smaller_segments_leave_one_first"
        "path_mtu/a_report_during_recovery_starts_again"
        "path_mtu/a_report_during_fast_recovery_keeps_ssthresh"
        "path_mtu/a_limit_on_an_open_connection_is_a_report"
        "path_mtu/a_limit_with_nothing_in_flight_keeps_the_window"
    }
    fn forged_path_mtus_are_ignored() {
        "path_mtu/only_what_is_in_flight_is_believed"
        "path_mtu/no_report_makes_segments_tiny"
        "path_mtu/ipv6_has_a_smallest_mtu"
    }

    // Pauses.
    fn a_pause_restarts_slow_start() {
        "idle_restart/slow_start_after_one_rto_without_sending"
        "idle_restart/since_send_restarts_in_spite_of_a_request"
    }
    fn a_pause_is_what_each_source_says() {
        "idle_restart/a_request_ends_bsds_idle_time"
        "idle_restart/bsd_restarts_also_before_the_first_data"
        "idle_restart/sunos_keeps_the_window"
        "idle_restart/linux_halves_once_after_one_rto"
        "idle_restart/one_segment_after_one_rto_without_sending"
        "idle_restart/stevens_restarts_after_one_round_trip"
        "idle_restart/a_longer_threshold_keeps_the_window"
        "idle_restart/a_cap_bounds_what_decay_leaves"
    }
    fn pacing_after_a_pause_is_that_of_its_sources() {
        "idle_restart/rbp_spreads_the_window_until_the_first_ack"
        "idle_restart/rbp_ends_with_what_was_paced_out"
        "idle_restart/rbp_by_window_keeps_it_when_it_ends"
        "idle_restart/rbp_by_vegas_paces_what_was_counted"
        "idle_restart/rbp_by_count_sends_one_every_t_over_n"
        "idle_restart/rbp_goes_on_when_a_request_arrives"
        "idle_restart/rbp_of_ns_2_ends_with_any_arrival"
        "idle_restart/rbp_of_ns_2_takes_three_quarters"
    }
    fn a_new_connection_may_be_paced() {
        "idle_restart/a_new_connection_may_be_paced"
    }
    fn slow_start_may_end_before_a_loss() {
        "idle_restart/hoe_ends_slow_start_at_the_bandwidth_delay_product"
    }
    fn an_unused_window_is_kept_for_five_minutes() {
        "idle_restart/new_cwv_keeps_the_window_for_five_minutes"
        "idle_restart/new_cwv_halves_the_window_after_five_minutes"
        "idle_restart/new_cwv_does_not_grow_a_window_that_is_not_used"
    }
    fn pacing_ends_where_acknowledgements_do_not_clock() {
        "idle_restart/rbp_ends_with_a_time_out"
        "idle_restart/rbp_ends_with_a_loss"
        "idle_restart/rbp_paces_what_is_written_later"
    }

    // Timestamps and window scale.
    fn timestamps_are_required_once_negotiated() {
        "timestamps/a_segment_without_one_is_dropped"
        "timestamps/a_reset_needs_none"
        "timestamps/a_syn_without_one_is_challenged"
        "reset/it_carries_the_timestamp"
    }
    fn old_timestamps_are_dropped() {
        "timestamps/an_older_one_is_dropped_and_answered"
        "timestamps/after_24_days_an_older_one_counts"
    }
    fn scaling_hides_bytes_but_takes_none_back() {
        "window_scale/what_rounding_hides_is_still_accepted"
        "window_scale/more_than_14_counts_as_14"
        "window_scale/windows_count_in_units_of_the_shift_but_never_in_a_syn"
    }
    fn every_syn_says_the_same() {
        "window_scale/a_smaller_buffer_keeps_the_shift_of_the_syn"
        "window_scale/a_larger_buffer_keeps_the_shift_of_the_syn"
        "window_scale/a_syn_ack_sent_again_says_the_same"
    }
}
