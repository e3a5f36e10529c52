/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The fields of the kernel's structures that the programs use. Their offsets are those of the running kernel
 * (CO-RE): the loader reads them from its BTF. */
#ifndef ACKWISE_KERNEL_H
#define ACKWISE_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed int __s32;
typedef signed long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef unsigned long size_t;
typedef _Bool bool;

/* include/uapi/linux/bpf.h */
enum {
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_SK_STORAGE = 24,
};
enum {
	BPF_ANY = 0,
	BPF_F_NO_PREALLOC = 1,
	BPF_SK_STORAGE_GET_F_CREATE = 1,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct netns_ipv4 {
	__u8 sysctl_tcp_min_tso_segs;
};

struct net {
	struct netns_ipv4 ipv4;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	__u16 skc_num;
	possible_net_t skc_net;
};

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	__u32 sk_pacing_status;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	__u32 icsk_rto;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 mss_cache;
	__u32 srtt_us;
	__u32 snd_cwnd;
	__u32 packets_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 retrans_out;
	__u32 data_segs_out;
	__u32 lsndtime;
	__u32 rate_delivered;
	__u32 rate_interval_us;
	__u64 delivered_mstamp;
	__u64 bytes_received;
	__u32 rcv_nxt;
	__u32 copied_seq;
};

struct ack_sample {
	__u32 pkts_acked;
};

enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
};

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *);
	void (*cong_avoid)(struct sock *, __u32, __u32);
	void (*set_state)(struct sock *, __u8);
	void (*cwnd_event)(struct sock *, enum tcp_ca_event);
	void (*pkts_acked)(struct sock *, const struct ack_sample *);
	__u32 (*min_tso_segs)(struct sock *);
	__u32 (*undo_cwnd)(struct sock *);
	char name[16];
	void (*init)(struct sock *);
	void (*release)(struct sock *);
};

#pragma clang attribute pop

/* include/net/sock.h, enum sk_pacing */
enum { SK_PACING_NONE = 0, SK_PACING_NEEDED = 1 };

#endif
