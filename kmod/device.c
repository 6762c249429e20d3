// SPDX-License-Identifier: GPL-2.0-only
/* /dev/flowtap: the commands of linux/flowtap.h. Arguments are taken apart here, and only here. */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "bpf.h"
#include "device.h"
#include "event.h"
#include "group.h"
#include "holder_cpu.h"
#include "remote.h"
#include "stream.h"

struct flowtap_handle {
	struct mutex lock;		/* CONFIGURE against CONFIGURE */
	struct flowtap_stream *stream;		/* set once, with release order */
};

static const struct file_operations operations;

static struct flowtap_stream *stream_of(const struct file *file)
{
	struct flowtap_handle *handle = file->private_data;

	return smp_load_acquire(&handle->stream);
}

static int query(struct file *file, void *argument)
{
	struct flowtap_query *query = argument;
	u32 cpu = query->cpu, want = query->want, reason;
	const struct flowtap_source *source;

	if (cpu >= nr_cpu_ids || !cpu_possible(cpu) || want > FLOWTAP_SOURCE_ETE ||
	    memchr_inv(&query->abi, 0, sizeof(*query) - offsetof(struct flowtap_query, abi)))
		return -EINVAL;
	cpu = array_index_nospec(cpu, nr_cpu_ids);
	*query = (struct flowtap_query){
		.cpu = cpu,
		.want = want,
		.abi = FLOWTAP_ABI,
		.cpus = nr_cpu_ids,
		.sources = source_mask(cpu),
		.onlines = holder_onlines(cpu),
	};
	source = source_find(want, cpu, &reason);
	query->reason = reason;
	if (!source)
		return 0;
	query->source = source->id;
	query->modes = source->modes;
	query->flags = FLAGS_SUPPORTED;
	query->triggers = source->triggers;
	query->period_min = EVENT_PERIOD_MIN;
	source->query(cpu, query);
	holder_query(cpu, query);
	return 0;
}

/* The leader's file is held until its set has been joined. */
static struct flowtap_stream *configure_in_group(const struct flowtap_configure *configure)
{
	struct file *file = fget(configure->group_fd);
	struct flowtap_stream *stream;

	if (!file)
		return ERR_PTR(-EBADF);
	if (file->f_op != &operations || !stream_of(file))
		stream = ERR_PTR(-EINVAL);
	else
		stream = stream_new(configure, stream_of(file));
	fput(file);
	return stream;
}

static int configure(struct file *file, void *argument)
{
	struct flowtap_configure *configure = argument;
	struct flowtap_handle *handle = file->private_data;
	struct flowtap_stream *stream;
	int error = 0;

	if (configure->cpu < nr_cpu_ids)
		configure->cpu = array_index_nospec(configure->cpu, nr_cpu_ids);
	mutex_lock(&handle->lock);
	if (handle->stream)
		stream = ERR_PTR(-EBUSY);
	else if (configure->flags & FLOWTAP_GROUP)
		stream = configure_in_group(configure);
	else
		stream = stream_new(configure, NULL);
	if (IS_ERR(stream))
		error = PTR_ERR(stream);
	else
		smp_store_release(&handle->stream, stream);
	mutex_unlock(&handle->lock);
	return error;
}

static int change_task(struct file *file, struct flowtap_task *task,
		       int (*change)(struct flowtap_group *group, u32 pid, bool thread))
{
	int result;

	if (task->flags & ~FLOWTAP_TASK_THREAD || task->reserved)
		return -EINVAL;
	result = change(stream_of(file)->group, task->pid, task->flags & FLOWTAP_TASK_THREAD);
	if (result < 0)
		return result;
	task->threads = result;
	return 0;
}

static int add_task(struct file *file, void *argument)
{
	return change_task(file, argument, group_add);
}

static int remove_task(struct file *file, void *argument)
{
	return change_task(file, argument, group_remove);
}

static int key(struct file *file, void *argument)
{
	struct flowtap_key *key = argument;

	if (key->key || key->flags || key->reserved)
		return -EINVAL;
	if (!bpf_usable())
		return -EOPNOTSUPP;
	return group_key(stream_of(file)->group, &key->key);
}

static int switch_on_or_off(struct file *file, const struct flowtap_enable *enable,
			    void (*change)(struct flowtap_stream *))
{
	if (enable->flags & ~FLOWTAP_ENABLE_GROUP || enable->reserved)
		return -EINVAL;
	group_each(stream_of(file), enable->flags & FLOWTAP_ENABLE_GROUP, change);
	return 0;
}

static int enable(struct file *file, void *argument)
{
	return switch_on_or_off(file, argument, group_enable);
}

static int disable(struct file *file, void *argument)
{
	return switch_on_or_off(file, argument, group_disable);
}

static int snapshot(struct file *file, void *argument)
{
	struct flowtap_snapshot *snapshot = argument;

	if (snapshot->flags || snapshot->entries || snapshot->reserved)
		return -EINVAL;
	snapshot->entries = remote_snapshot(stream_of(file));
	return 0;
}

static int stats(struct file *file, void *argument)
{
	stream_stats(stream_of(file), argument);
	return 0;
}

/*
 * By _IOC_NR. The size in the command number may be that of a newer structure; these are the
 * first ones, so none may be shorter.
 */
static const struct command {
	u32 command;
	bool configured;		/* only after CONFIGURE */
	int (*function)(struct file *file, void *argument);
} commands[] = {
	[0] = { FLOWTAP_IOC_QUERY, false, query },
	[1] = { FLOWTAP_IOC_CONFIGURE, false, configure },
	[2] = { FLOWTAP_IOC_ADD_TASK, true, add_task },
	[3] = { FLOWTAP_IOC_REMOVE_TASK, true, remove_task },
	[4] = { FLOWTAP_IOC_ENABLE, true, enable },
	[5] = { FLOWTAP_IOC_DISABLE, true, disable },
	[6] = { FLOWTAP_IOC_SNAPSHOT, true, snapshot },
	[7] = { FLOWTAP_IOC_STATS, true, stats },
	[8] = { FLOWTAP_IOC_KEY, true, key },
};

static long run(struct file *file, const struct command *command, u32 size, void __user *user)
{
	u32 known = _IOC_SIZE(command->command);
	void *argument;
	long error;

	if (size < known)
		return -EINVAL;
	argument = kzalloc(known, GFP_KERNEL);
	if (!argument)
		return -ENOMEM;
	error = 0;
	if (_IOC_DIR(command->command) & _IOC_WRITE)
		error = copy_struct_from_user(argument, known, user, size);
	if (!error)
		error = command->function(file, argument);
	if (!error && _IOC_DIR(command->command) & _IOC_READ &&
	    (copy_to_user(user, argument, known) || clear_user(user + known, size - known)))
		error = -EFAULT;
	kfree(argument);
	return error;
}

static long device_ioctl(struct file *file, unsigned int number, unsigned long argument)
{
	const struct command *command;

	if (_IOC_TYPE(number) != FLOWTAP_IOC_MAGIC || _IOC_NR(number) >= ARRAY_SIZE(commands))
		return -ENOTTY;
	command = commands + array_index_nospec(_IOC_NR(number), ARRAY_SIZE(commands));
	if (_IOC_DIR(number) != _IOC_DIR(command->command))
		return -ENOTTY;
	if (command->configured && !stream_of(file))
		return -EINVAL;
	return run(file, command, _IOC_SIZE(number), (void __user *)argument);
}

static int device_open(struct inode *inode, struct file *file)
{
	struct flowtap_handle *handle = kzalloc(sizeof(*handle), GFP_KERNEL_ACCOUNT);

	if (!handle)
		return -ENOMEM;
	mutex_init(&handle->lock);
	file->private_data = handle;
	return nonseekable_open(inode, file);
}

static int device_release(struct inode *inode, struct file *file)
{
	struct flowtap_handle *handle = file->private_data;

	if (handle->stream)
		stream_close(handle->stream);
	kfree(handle);
	return 0;
}

static int device_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct flowtap_stream *stream = stream_of(file);

	if (!stream)
		return -EINVAL;
	if (vma->vm_pgoff && vma->vm_pgoff == stream->output.aux.offset >> PAGE_SHIFT)
		return aux_map(&stream->output.aux, vma);
	return ring_map(&stream->output.ring, vma);
}

static __poll_t device_poll(struct file *file, poll_table *table)
{
	struct flowtap_stream *stream = stream_of(file);

	if (!stream)
		return EPOLLERR;
	poll_wait(file, &stream->output.wait, table);
	/* The tail that the reader has stored before the head is looked at: see output_waits(). */
	smp_mb();
	return stream_poll(stream);
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = device_open,
	.release = device_release,
	.unlocked_ioctl = device_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = device_mmap,
	.poll = device_poll,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "flowtap",
	.fops = &operations,
	.mode = 0660,
};

int device_init(void)
{
	return misc_register(&device);
}

void device_exit(void)
{
	misc_deregister(&device);
}
