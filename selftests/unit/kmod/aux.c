// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows how an AUX area is sized, who may map it and how, and that a reader's tail, whatever it is,
 * makes no more bytes wait than there are. kmod/aux.c and ring.c are compiled into this program.
 */
#include "support/kselftest_harness.h"

#include "kernel_output.h"

#include "../../../kmod/ring.c"
#include "../../../kmod/aux.c"

#define PAGES	4U
#define SIZE	((u64)PAGES * PAGE_SIZE)

FIXTURE(aux)
{
	struct flowtap_configure configure;
	struct flowtap_ring_writer ring;
	struct flowtap_aux aux;
	struct vm_area_struct vma;
};

static void allocate(FIXTURE_DATA(aux) *self)
{
	memset(&self->ring, 0, sizeof(self->ring));
	memset(&self->aux, 0, sizeof(self->aux));
	ring_init(&self->ring, 2, &self->configure);
	aux_init(&self->aux, &self->ring, &self->configure);
}

static void release(FIXTURE_DATA(aux) *self)
{
	aux_free(&self->aux);
	ring_free(&self->ring);
}

FIXTURE_SETUP(aux)
{
	self->configure = (struct flowtap_configure){ .aux_pages = PAGES };
	allocate(self);
	self->vma = (struct vm_area_struct){
		.vm_start = 0x10000, .vm_end = 0x10000 + SIZE, .vm_flags = VM_SHARED | VM_WRITE,
	};
}

FIXTURE_TEARDOWN(aux)
{
	release(self);
}

TEST_F(aux, the_reader_is_told_where_it_is)
{
	const struct flowtap_ring *control = self->ring.control;

	EXPECT_EQ(3 * PAGE_SIZE, control->aux_offset);
	EXPECT_EQ(control->aux_offset, self->aux.offset);
	EXPECT_EQ(SIZE, control->aux_size);
	EXPECT_EQ(SIZE / 4, self->aux.watermark);
	/* What stray writes may hit past the end is there. */
	memset(self->aux.bytes, 0x55, SIZE + AUX_SPARE_PAGES * PAGE_SIZE);
	release(self);
	self->configure.aux_watermark = 100;
	allocate(self);
	EXPECT_EQ(100, self->aux.watermark);
	release(self);
	self->configure.aux_pages = 0;
	allocate(self);
	EXPECT_EQ(NULL, self->aux.bytes);
	EXPECT_EQ(0, self->ring.control->aux_offset | self->ring.control->aux_size);
}

TEST_F(aux, no_more_waits_than_there_is)
{
	static const u64 lengths[] = { 0, 1, SIZE - 1, SIZE, SIZE + 1, 1ULL << 63, -1ULL };
	unsigned int i, overwrite;
	u64 behind;

	aux_publish(&self->aux, 10 * SIZE + 100);
	EXPECT_EQ(10 * SIZE + 100, self->ring.control->aux_head);
	aux_publish(&self->aux, 28);
	EXPECT_EQ(10 * SIZE + 128, self->ring.control->aux_head);
	for (overwrite = 0; overwrite < 2; overwrite++)
		for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
			behind = lengths[i];
			self->aux.overwrite = overwrite;
			self->ring.control->aux_tail = self->aux.head - behind;
			EXPECT_EQ(self->aux.head - behind, aux_tail(&self->aux));
			EXPECT_EQ(overwrite ? 0 : behind > SIZE ? SIZE : behind,
				  aux_waiting(&self->aux));
		}
}

/* Written by its reader; of a flight recorder never, nor later by mprotect. */
TEST_F(aux, it_is_mapped_as_its_reader_needs_it)
{
	unsigned long flags, pages;
	unsigned int overwrite;
	bool writes;
	int want;

	for (overwrite = 0; overwrite < 2; overwrite++) {
		self->aux.overwrite = overwrite;
		for (flags = 0; flags < 16; flags++)
			for (pages = PAGES - 1; pages <= PAGES + AUX_SPARE_PAGES; pages++) {
				/* VM_READ is no matter; VM_WRITE 2, VM_EXEC 4, VM_SHARED 8. */
				self->vma.vm_end = self->vma.vm_start + pages * PAGE_SIZE;
				self->vma.vm_flags = flags | VM_MAYWRITE | VM_MAYEXEC;
				writes = flags & 2;
				want = pages != PAGES || !(flags & 8) || writes == overwrite ?
				       -EINVAL : flags & 4 ? -EPERM : 0;
				ASSERT_EQ(want, aux_map(&self->aux, &self->vma))
					TH_LOG("flags %lu, pages %lu", flags, pages);
				if (want)
					continue;
				EXPECT_EQ(0, self->vma.vm_flags & VM_MAYEXEC);
				EXPECT_EQ(!overwrite, !!(self->vma.vm_flags & VM_MAYWRITE));
				EXPECT_NE(0, self->vma.vm_flags & VM_DONTCOPY);
				EXPECT_NE(0, self->vma.vm_flags & VM_DONTEXPAND);
			}
	}
	self->vma.vm_end = self->vma.vm_start + SIZE;
	self->vma.vm_flags = VM_SHARED;
	EXPECT_EQ(0, aux_map(&self->aux, &self->vma));
	aux_free(&self->aux);
	EXPECT_EQ(-EINVAL, aux_map(&self->aux, &self->vma));
}

TEST_HARNESS_MAIN
