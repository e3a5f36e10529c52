// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Restart after idle by rate (Heidemann 1997, section 2.4): a congestion control that keeps its window over an
 * idle period, sends as much at once as the kernel's own restart does, paces the rest of the window over one
 * round trip, and ends with the first ACK. All else is the kernel's CUBIC, or with -DRENO its Reno.
 *
 * The kernel asks whether a connection was idle when data is written (tcp_slow_start_after_idle_check), says
 * CA_EVENT_CWND_RESTART, and then cuts the window (tcp_cwnd_restart), for each piece written before the first
 * one is sent. CA_EVENT_TX_START follows with the first segment: there the window is put back. */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "Dual MIT/GPL";

/* Sent at once: the restart window of RFC 5681, section 4.1, with RFC 6928's initial window. So nothing is
 * sent later than the kernel would send it. */
#define RESTART_WINDOW 10
/* A window is remembered for five minutes: RFC 7661, section 4.1, the non-validated period. */
#define REMEMBER_US (5ULL * 60 * 1000 * 1000)

struct state {
	/* The largest window since the last loss, in segments, and when it was last in use. */
	__u32 window;
	/* Most segments that were in flight since the last loss, without one: path and queue held them. */
	__u32 flight;
	/* Whether the window is being paced, and whether that is why the socket paces. */
	__u16 pacing;
	__u16 owns_status;
	__u64 used_us;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct state);
} states SEC(".maps");

extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;
#ifndef RENO
extern void cubictcp_init(struct sock *sk) __ksym;
extern __u32 cubictcp_recalc_ssthresh(struct sock *sk) __ksym;
extern void cubictcp_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern void cubictcp_state(struct sock *sk, __u8 new_state) __ksym;
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) __ksym;
#endif

static __always_inline struct tcp_sock *tcp_sk(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline bool is_idle(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	__u32 idle = (__u32)bpf_jiffies64() - tp->lsndtime;

	return !tp->packets_out && idle > tp->inet_conn.icsk_rto && (__s32)idle > 0;
}

/* Remembers the window of before the idle period, and forgets one that is too old. In slow start the window grows to
 * twice what was in flight (tcp_is_cwnd_limited), and the path has not shown that it holds the other half: RFC 7661,
 * section 4.2, counts what was in flight (pipeACK). */
static __always_inline void remember(struct tcp_sock *tp, struct state *state)
{
	__u64 now_us = bpf_ktime_get_ns() / 1000;
	__u32 window = tp->snd_cwnd < state->flight ? tp->snd_cwnd : state->flight;

	if (window >= state->window) {
		state->window = window;
		state->used_us = tp->delivered_mstamp;
	}
	if (now_us > state->used_us + REMEMBER_US)
		state->window = 0;
}

/* Counts what is in flight. Nothing is allocated for connections whose responses fit into the restart window. */
static __always_inline void count_flight(struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	__u32 flight = tp->packets_out + sample->pkts_acked;
	struct state *state;

	if (flight <= RESTART_WINDOW || tp->sacked_out || tp->lost_out || tp->retrans_out)
		return;
	state = bpf_sk_storage_get(&states, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (state && flight > state->flight)
		state->flight = flight;
}

/* One window in one round trip, and no more than the path was last measured to deliver (Heidemann 1997: "n
 * packets in time t"): responses that are limited by the server leave a window that is larger than the path. */
static __always_inline __u64 rate_of(struct tcp_sock *tp, __u32 window)
{
	__u64 mss = tp->mss_cache;
	__u64 srtt_us = tp->srtt_us >> 3;
	__u64 interval_us = tp->rate_interval_us;
	__u64 rate, delivered;

	if (!srtt_us)
		return 0;
	rate = window * mss * 1000000 / srtt_us;
	delivered = interval_us ? tp->rate_delivered * mss * 1000000 / interval_us : 0;
	return delivered && delivered < rate ? delivered : rate;
}

static __always_inline void restart(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct state *state;
	__u64 rate;

	if (!tp->data_segs_out || !is_idle(sk))
		return;
	state = bpf_sk_storage_get(&states, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!state)
		return;
	remember(tp, state);
	rate = rate_of(tp, state->window);
	if (state->window <= RESTART_WINDOW || !rate)
		return;
	tp->snd_cwnd = state->window;
	if (rate > sk->sk_max_pacing_rate)
		rate = sk->sk_max_pacing_rate;
	sk->sk_pacing_rate = rate;
	state->pacing = 1;
	/* fq, or a program with SO_MAX_PACING_RATE, paces already. */
	state->owns_status = sk->sk_pacing_status == SK_PACING_NONE;
	if (state->owns_status)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

static __always_inline void end_pacing(struct sock *sk, struct state *state)
{
	if (state->owns_status && sk->sk_pacing_status == SK_PACING_NEEDED)
		sk->sk_pacing_status = SK_PACING_NONE;
	state->owns_status = 0;
	state->pacing = 0;
}

SEC("struct_ops")
void BPF_PROG(pace_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct state *state;

	if (event == bpf_core_enum_value(enum tcp_ca_event, CA_EVENT_CWND_RESTART)) {
		state = bpf_sk_storage_get(&states, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
		if (state)
			remember(tcp_sk(sk), state);
	} else if (event == bpf_core_enum_value(enum tcp_ca_event, CA_EVENT_TX_START)) {
		restart(sk);
	}
#ifndef RENO
	cubictcp_cwnd_event(sk, event);
#endif
}

/* The first segments after idle leave as one: nothing is paced before CA_EVENT_TX_START, and afterwards the
 * pacer accounts for all of them. */
SEC("struct_ops")
__u32 BPF_PROG(pace_min_tso_segs, struct sock *sk)
{
	__u32 usual = sk->__sk_common.skc_net.net->ipv4.sysctl_tcp_min_tso_segs;

	return is_idle(sk) && usual < RESTART_WINDOW ? RESTART_WINDOW : usual;
}

SEC("struct_ops")
void BPF_PROG(pace_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct state *state;

	count_flight(sk, sample);
	state = bpf_sk_storage_get(&states, sk, 0, 0);
	if (state && state->pacing && sample->pkts_acked) {
		/* ns-2's tcp-rbp.cc, Reno: the window becomes what was paced out, so that the ACK releases no
		 * burst. It grows back with each ACK, and is remembered for the next idle period. */
		__u32 sent = tp->packets_out + sample->pkts_acked;

		if (sent < RESTART_WINDOW)
			sent = RESTART_WINDOW;
		end_pacing(sk, state);
		if (sent < tp->snd_cwnd)
			tp->snd_cwnd = sent;
	}
#ifndef RENO
	cubictcp_acked(sk, sample);
#endif
}

/* A loss: the window was too large. */
SEC("struct_ops")
__u32 BPF_PROG(pace_ssthresh, struct sock *sk)
{
	struct state *state = bpf_sk_storage_get(&states, sk, 0, 0);

	if (state) {
		end_pacing(sk, state);
		state->window = 0;
		state->flight = 0;
	}
#ifdef RENO
	return tcp_reno_ssthresh(sk);
#else
	return cubictcp_recalc_ssthresh(sk);
#endif
}

SEC("struct_ops")
void BPF_PROG(pace_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
#ifdef RENO
	tcp_reno_cong_avoid(sk, ack, acked);
#else
	cubictcp_cong_avoid(sk, ack, acked);
#endif
}

SEC("struct_ops")
__u32 BPF_PROG(pace_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

/* Also when the option is given back in the middle of a restart. */
SEC("struct_ops")
void BPF_PROG(pace_release, struct sock *sk)
{
	struct state *state = bpf_sk_storage_get(&states, sk, 0, 0);

	if (state)
		end_pacing(sk, state);
}

#ifndef RENO
SEC("struct_ops")
void BPF_PROG(pace_init, struct sock *sk)
{
	cubictcp_init(sk);
}

SEC("struct_ops")
void BPF_PROG(pace_set_state, struct sock *sk, __u8 new_state)
{
	cubictcp_state(sk, new_state);
}
#endif

SEC(".struct_ops.link")
struct tcp_congestion_ops pace = {
	.ssthresh = (void *)pace_ssthresh,
	.cong_avoid = (void *)pace_cong_avoid,
	.cwnd_event = (void *)pace_cwnd_event,
	.pkts_acked = (void *)pace_pkts_acked,
	.min_tso_segs = (void *)pace_min_tso_segs,
	.undo_cwnd = (void *)pace_undo_cwnd,
	.release = (void *)pace_release,
#ifdef RENO
	.name = "ackwise_reno",
#else
	.init = (void *)pace_init,
	.set_state = (void *)pace_set_state,
	.name = "ackwise_cubic",
#endif
};
