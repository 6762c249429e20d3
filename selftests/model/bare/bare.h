/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest without a kernel for the model of ETE and TRBE: what its parts have of each other. It
 * boots on QEMU's virt machine at EL1, or at EL2 with VHE, or at EL1 under a small hypervisor, and
 * runs one scenario, chosen by its command line:
 *
 *	scenario=NAME out=PREFIX [key=value...]
 *
 * Numbers are decimal, or hexadecimal with 0x. Text goes to the PL011, files by semihosting.
 */
#ifndef FLOWTAP_SELFTESTS_MODEL_BARE_BARE_H
#define FLOWTAP_SELFTESTS_MODEL_BARE_BARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#define CPUS 4
#define READ(name) ({ u64 v_; __asm__ volatile("mrs %0, " #name : "=r"(v_) : : "memory"); v_; })
#define WRITE(name, value) __asm__ volatile("msr " #name ", %x0" : : "rZ"((u64)(value)) : "memory")
#define isb() __asm__ volatile("isb" : : : "memory")
#define dsb() __asm__ volatile("dsb sy" : : : "memory")
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Physical memory: RAM from 1 GiB on. The kernel half shows all of it at KERNEL. */
#define KERNEL		0xffff800000000000UL
#define RAM		0x40000000UL
#define RAM_SIZE	0x10000000UL	/* -m 256 */
#define TABLES		0x42000000UL	/* translation tables */
#define TABLES_SIZE	0x00800000UL
#define RANDOM_CODE	0x43000000UL	/* random.c, RANDOM_ROOM for each CPU */
#define RANDOM_ROOM	0x00080000UL
#define LAZY_MEMORY	0x43800000UL	/* after user pages that fault first */
#define STACK_MEMORY	0x43a00000UL	/* of the tasks at EL0 */
#define TRACE_MEMORY	0x44000000UL	/* trace buffers, TRACE_ROOM for each CPU */
#define TRACE_ROOM	0x00400000UL
#define COLLECTED	0x46000000UL	/* what was drained, COLLECT_ROOM for each CPU */
#define COLLECT_ROOM	0x02000000UL
/* Virtual addresses of which the tables change: each CPU's trace buffer in pages. */
#define TRACE_WINDOW	0xffffc00000000000UL
#define TRACE_WINDOW_CPU 0x0000000010000000UL
#define TRACE_LOW	0x0000300000000000UL	/* the same in the user half */
#define USER		0x0000000000400000UL
#define USER_STACKS	0x0000000010000000UL
#define USER_RANDOM	0x0000000020000000UL
#define USER_LAZY	0x0000000030000000UL
#define USER_LAZY_PAGES	16

static inline void *at(u64 physical)
{
	return (void *)(physical + KERNEL);
}

static inline u64 physical(const void *kernel)
{
	return (u64)kernel - KERNEL;
}

/* How it was booted. boot.c */
enum mode { MODE_EL1, MODE_VHE, MODE_NVHE };

struct boot {
	enum mode mode;
	u32 granule;		/* log2: 12, 14, 16 */
	u64 ttbr0, ttbr1, tcr, mair, sctlr;	/* in this order for start.S */
	char command[1024];
};

extern struct boot boot;
void secondary_start(void);

/* The value of key= on the command line, NULL if it is not there; up to the blank. options.c */
const char *option(const char *command, const char *key);
bool option_is(const char *key, const char *value);
/* otherwise: where the key is not there. */
u64 option_number(const char *key, u64 otherwise);
void option_copy(const char *key, char *text, size_t capacity, const char *otherwise);

/* console.c. panic: prints and powers off; the test sees that the last line is missing. */
void print(const char *format, ...) __attribute__((format(printf, 1, 2)));
size_t format(char *text, size_t capacity, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void panic(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void *memcpy(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);

/* semihost.c */
void semihost_command_line(char *text, size_t capacity);
/* Makes or replaces the file; panics where that fails. */
void semihost_write_file(const char *path, const void *bytes, size_t n);

/* mmu.c */
enum access {
	ACCESS_KERNEL = 1,	/* read, write, execute at EL1 */
	ACCESS_DEVICE,
	ACCESS_DATA,		/* user and kernel, no execution */
	ACCESS_CODE,		/* user and kernel execute and read */
	ACCESS_READ_ONLY,	/* kernel reads */
	ACCESS_NO_FLAG,		/* as ACCESS_KERNEL with the access flag clear */
	ACCESS_NONE,		/* not mapped */
	ACCESS_STAGE2,
	ACCESS_STAGE2_READ_ONLY,
	ACCESS_STAGE2_DEVICE,
};

/* Runs with the MMU off too. Blocks where size and alignment allow, unless `pages`. */
void mmu_map(u64 *root, u64 virtual, u64 physical, u64 size, enum access access, bool pages);
void mmu_boot(void);
u64 *mmu_root(u64 virtual);
/* Changes pages that are mapped or were, with the maintenance that this needs. */
void mmu_change(u64 virtual, u64 physical, u64 size, enum access access);
/* The tables' descriptor that covers it gets APTable read-only: all below is read-only. */
void mmu_table_read_only(u64 virtual, bool on);
u64 *mmu_new_root(void);
/* Under the hypervisor: memory is seen as it is, through stage 2; granule of 4K only. */
void mmu_start_stage2(void);
void mmu_change_stage2(u64 physical, u64 size, enum access access);

/* gic.c */
enum { PPI_TRACE = 21, PPI_HVTIMER = 28, PPI_VTIMER = 27 };
void gic_init(void);
void gic_init_cpu(unsigned int cpu);
void gic_enable(unsigned int cpu, unsigned int intid, bool on);
bool gic_pending(unsigned int cpu, unsigned int intid);
void gic_clear(unsigned int cpu, unsigned int intid);
u32 gic_acknowledge(void);
void gic_end(u32 intid);

/* cpu.c: PSCI, and what each CPU is. */
struct cpu {
	unsigned int index;
	struct task *current;
	u64 ticks;		/* timer interrupts taken */
	u64 spurious;
	u64 faults;		/* pages that faulted first */
	u64 calls;		/* SVC */
	volatile u32 state;	/* enum cpu_state */
	void (*work)(unsigned int cpu);
};

enum cpu_state { CPU_DOWN, CPU_UP, CPU_DONE };

extern struct cpu cpus[CPUS];
static inline struct cpu *this_cpu(void)
{
	struct cpu *cpu;

	__asm__("mrs %0, tpidr_el1" : "=r"(cpu));
	return cpu;
}

void cpu_init(unsigned int index);
/* Starts it by PSCI; it runs work, then is CPU_DONE and, with off, powers off. */
void cpu_start(unsigned int index, void (*work)(unsigned int cpu));
void cpu_wait(unsigned int index, enum cpu_state state);
void cpu_off(void) __attribute__((noreturn));
bool cpu_is_off(unsigned int index);
void system_off(void) __attribute__((noreturn));
/* A call of the hypervisor under which we run (MODE_NVHE), as hypervisor.S lists them. */
enum hypercall { HYPER_NOTHING, HYPER_HCR, HYPER_VTTBR, HYPER_VTCR, HYPER_TRFCR, HYPER_MDCR,
		 HYPER_CONTEXTIDR, HYPER_LOOP, HYPER_FORGET };
u64 hypercall(enum hypercall call, u64 value);

/* task.c: threads of EL0 and EL1, by turns where the timer runs. */
struct frame {
	u64 x[31], sp, elr, spsr;
};

enum { SVC_YIELD, SVC_EXIT, SVC_NOTHING, SVC_NESTED, SVC_WORK };

struct task {
	struct frame *frame;
	u32 id;			/* CONTEXTIDR_EL1 */
	bool alive;
	bool user;
	u64 result;
	u8 *stack;
};

#define TASKS 8
#define KERNEL_STACK 16384
#define USER_STACK 65536
void task_init(unsigned int cpu);
/* Of this CPU; begins at entry(argument), ends where that returns. */
struct task *task_start(u64 entry, bool user, u64 argument, u32 id);
/* Lets them run until all have ended; the last one's result. */
u64 task_run(void);
void task_yield(void);
/* Interrupts each so many ticks of the counter; 0: off. */
void timer_start(u64 ticks);
/* Called for an SVC_WORK of a task, at EL1, with its x0. */
extern u64 (*task_work)(u64 argument);

static inline void irq_enable(void)
{
	__asm__ volatile("msr daifclr, #3" : : : "memory");
}

static inline void irq_disable(void)
{
	__asm__ volatile("msr daifset, #3" : : : "memory");
}

static inline u64 irq_save(void)
{
	u64 daif = READ(daif);

	irq_disable();
	return daif;
}

static inline void irq_restore(u64 daif)
{
	WRITE(daif, daif);
}

/*
 * random.c: a program of so many functions into `code`, the same for the same seed: f(x). It ends.
 */
void random_program(u32 *code, size_t capacity, u64 seed, unsigned int functions);

/* user.S: what tasks execute, at EL0 in the user half, at EL1 too where it says so. */
extern const char user_begin[], user_end[], user_load[];

#endif
