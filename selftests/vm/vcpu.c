// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs a virtual CPU by KVM (arm64): a loop of 1000 turns at GUEST between two exits, as often as the
 * argument says. Nobody else has code at that address.
 */
#include <err.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define GUEST	0x5a5a0000ULL
#define SIZE	0x10000ULL

static const uint32_t code[] = {
	0xd2a20001,	/*	movz	x1, #0x1000, lsl #16	nothing is there */
	0xd2807d00,	/* 0:	movz	x0, #1000 */
	0xf1000400,	/* 1:	subs	x0, x0, #1 */
	0x54ffffe1,	/*	b.ne	1b */
	0xb9000020,	/*	str	w0, [x1] */
	0x17fffffc,	/*	b	0b */
};

static int call(int fd, unsigned long request, void *argument, const char *what)
{
	int result = ioctl(fd, request, argument);

	if (result < 0)
		err(1, "%s", what);
	return result;
}

static void *map(int fd, size_t size)
{
	void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);

	if (bytes == MAP_FAILED)
		err(1, "mmap");
	return bytes;
}

int main(int argc, char **argv)
{
	const int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	unsigned long turns = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	struct kvm_userspace_memory_region region = { .guest_phys_addr = GUEST, .memory_size = SIZE };
	uint64_t pc = GUEST;
	struct kvm_one_reg reg = {
		.id = KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE |
		      KVM_REG_ARM_CORE_REG(regs.pc),
		.addr = (uintptr_t)&pc,
	};
	struct kvm_vcpu_init init;
	struct kvm_run *run;
	int vm, vcpu;
	void *memory;

	if (kvm < 0)
		err(1, "/dev/kvm");
	vm = call(kvm, KVM_CREATE_VM, NULL, "KVM_CREATE_VM");
	memory = map(-1, SIZE);
	memcpy(memory, code, sizeof(code));
	region.userspace_addr = (uintptr_t)memory;
	call(vm, KVM_SET_USER_MEMORY_REGION, &region, "KVM_SET_USER_MEMORY_REGION");
	vcpu = call(vm, KVM_CREATE_VCPU, NULL, "KVM_CREATE_VCPU");
	run = map(vcpu, (size_t)call(kvm, KVM_GET_VCPU_MMAP_SIZE, NULL, "KVM_GET_VCPU_MMAP_SIZE"));
	call(vm, KVM_ARM_PREFERRED_TARGET, &init, "KVM_ARM_PREFERRED_TARGET");
	call(vcpu, KVM_ARM_VCPU_INIT, &init, "KVM_ARM_VCPU_INIT");
	call(vcpu, KVM_SET_ONE_REG, &reg, "KVM_SET_ONE_REG");
	for (unsigned long turn = 0; turn < turns; turn++) {
		call(vcpu, KVM_RUN, NULL, "KVM_RUN");
		if (run->exit_reason != KVM_EXIT_MMIO || run->mmio.phys_addr != 0x10000000)
			errx(1, "exit %u at turn %lu", run->exit_reason, turn);
	}
	printf("a guest ran %lu times\n", turns);
	return 0;
}
