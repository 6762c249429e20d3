# SPDX-License-Identifier: GPL-2.0-only
# The program that makes the archives which the tests of the command read.
$(eval $(call program,asan,cli,mkarchive,,$(SANITIZE)))
EXTRA += $(B)/asan/cli/mkarchive
$(eval $(call program,asan,cli,mkperf,,$(SANITIZE)))
EXTRA += $(B)/asan/cli/mkperf
$(eval $(call program,asan,cli,mkperf_losses,,$(SANITIZE)))
EXTRA += $(B)/asan/cli/mkperf_losses
$(eval $(call program,asan,cli,mkperf_etm4,,$(SANITIZE)))
EXTRA += $(B)/asan/cli/mkperf_etm4
# A snapshot as a perf.data.
$(eval $(call program,asan,cli,wrap_snapshot,,$(SANITIZE)))
EXTRA += $(B)/asan/cli/wrap_snapshot
$(eval $(call program,asan,cli,mkete,,$(SANITIZE)))
EXTRA += $(B)/asan/cli/mkete
# Where a recorded command prints, without a recording.
$(eval $(call program,asan,cli,prints,,$(SANITIZE),$(B)/asan/libtools.a))
EXTRA += $(B)/asan/cli/prints
# What record says, without a recording.
$(eval $(call program,asan,cli,says,,$(SANITIZE),$(B)/asan/libtools.a))
EXTRA += $(B)/asan/cli/says
# The command, to which each reading of the clock is a minute.
$(eval $(call program,asan,cli,minutes,,$(SANITIZE) -Xlinker --wrap=number_now,$(B)/asan/libtools.a))
EXTRA += $(B)/asan/cli/minutes
