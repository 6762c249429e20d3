// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reports when a function of a program is entered, or a tracepoint of the kernel, and when a
 * function has taken longer than it may. A program's cookie is the number of the probe.
 */
#include "core.bpf.h"
#include "probe_event.h"

#define PF_KTHREAD 0x00200000
#define RUNNING 16384			/* calls under way whose time is measured */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* By architecture: what is found there is what it is. */
struct pt_regs___riscv {
	unsigned long epc;
};

struct pt_regs___arm64 {
	__u64 pc;
};

struct pt_regs___x86 {
	unsigned long ip;
};

#pragma clang attribute pop

const volatile __u64 pause;		/* ns that a probe is silent after a report */
const volatile __u64 limits[PROBE_MAX];	/* ns that a call may take */

__u64 last[PROBE_MAX];			/* when it reported */
__u64 missed;				/* reports that found no space */

struct call {
	__u32 tid;
	__u32 number;
};

/* When it began; of one that calls itself the innermost. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, RUNNING);
	__type(key, struct call);
	__type(value, __u64);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} events SEC(".maps");

static void submit_event(__u64 number, __u64 address, __u64 took)
{
	const __u64 now = bpf_ktime_get_ns(), who = bpf_get_current_pid_tgid();
	struct probe_event *event;

	if (number >= PROBE_MAX || (last[number] && now - last[number] < pause))
		return;
	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		__sync_fetch_and_add(&missed, 1);
		return;
	}
	last[number] = now;
	*event = (struct probe_event){
		.time = now, .address = address, .took = took, .number = (__u32)number,
		.pid = (__u32)(who >> 32), .tid = (__u32)who,
	};
	bpf_ringbuf_submit(event, 0);
}

SEC("uprobe")
int on_function(struct pt_regs *context)
{
	submit_event(bpf_get_attach_cookie(context), bpf_get_func_ip(context), 0);
	return 0;
}

SEC("uprobe")
int on_call(struct pt_regs *context)
{
	const struct call call = {
		(__u32)bpf_get_current_pid_tgid(), (__u32)bpf_get_attach_cookie(context)
	};
	const __u64 now = bpf_ktime_get_ns();

	bpf_map_update_elem(&calls, &call, &now, BPF_ANY);
	return 0;
}

SEC("uretprobe")
int on_return(struct pt_regs *context)
{
	const struct call call = {
		(__u32)bpf_get_current_pid_tgid(), (__u32)bpf_get_attach_cookie(context)
	};
	const __u64 *began = bpf_map_lookup_elem(&calls, &call);
	__u64 took;

	if (!began)
		return 0;
	took = bpf_ktime_get_ns() - *began;
	bpf_map_delete_elem(&calls, &call);
	if (call.number < PROBE_MAX && took > limits[call.number])
		submit_event(call.number, bpf_get_func_ip(context), took);
	return 0;
}

static __u64 user_address(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const void *registers = (const void *)bpf_task_pt_regs(task);

	if (task->flags & PF_KTHREAD || !registers)
		return 0;
	if (bpf_core_field_exists(struct pt_regs___riscv, epc))
		return BPF_CORE_READ((const struct pt_regs___riscv *)registers, epc);
	if (bpf_core_field_exists(struct pt_regs___arm64, pc))
		return BPF_CORE_READ((const struct pt_regs___arm64 *)registers, pc);
	return BPF_CORE_READ((const struct pt_regs___x86 *)registers, ip);
}

SEC("raw_tp")
int on_tracepoint(void *context)
{
	submit_event(bpf_get_attach_cookie(context), user_address(), 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
