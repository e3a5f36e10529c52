// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* The order of request and response: how much a program had read of a connection when it last wrote to it.
 * If everything that has come in was read before the last write, no request waits for a response.
 *
 * TCP_INFO has times, in ticks of some milliseconds; this is an order. One program for each write, none for
 * packets. */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "Dual MIT/GPL";

/* The server's port, set before the program is loaded; 0 for any. */
const volatile __u16 port = 0;

/* The connections written to last. Further ones displace those that were not written to for longest. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, __u64);
} read_before_write SEC(".maps");

/* Each write of a program passes through this tracepoint when it is done, also those of sendfile(2), io_uring
 * and kernel TLS. */
SEC("tp_btf/sock_send_length")
int BPF_PROG(order_write, struct sock *sk, int result)
{
	struct tcp_sock *tp;
	__u64 cookie, read;

	if (result <= 0 || (port && sk->__sk_common.skc_num != port))
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	cookie = bpf_get_socket_cookie(sk);
	read = tp->bytes_received - (tp->rcv_nxt - tp->copied_seq);
	bpf_map_update_elem(&read_before_write, &cookie, &read, BPF_ANY);
	return 0;
}
