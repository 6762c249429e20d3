# SPDX-License-Identifier: GPL-2.0-only
# What the drain costs is counted in a guest, where instructions are counted exactly.
$(eval $(call program,riscv64,bench,drain,riscv64-linux-gnu-,))

.PHONY: bench-drain
bench-in-lab: bench-drain
bench-drain: $(B)/riscv64/bench/drain
	$(Q)selftests/kernel/modules $(B)/kmod 'riscv64-6.12*'
	$(Q)B=$(B) selftests/bench/drain.guest

# ETE is measured against OpenCSD, on the public corpus and on a long run that the encoder made; the
# same run as an ETMv4.4 traces it.
$(B)/host/bench/ete: LIBS += -lopencsd_c_api -lopencsd
bench-in-lab: $(B)/host/bench/ete.d/snapshot.ini $(B)/host/bench/etm4.d/snapshot.ini
$(B)/host/bench/etm4.d/snapshot.ini: MADE := --etm4 4
$(B)/host/bench/ete.d/snapshot.ini $(B)/host/bench/etm4.d/snapshot.ini: $(B)/host/ete/make_stream
	@mkdir -p $(B)/host/bench
	$(Q)$< --instructions 20000000 --seed 1 $(MADE) $(@D)

# Whole pipelines, by the command, on the same run and on a recording that is made for it.
$(eval $(call program,host,cli,mkarchive,,))
.PHONY: bench-pipelines
bench-in-lab: bench-pipelines
bench-pipelines: $(B)/host/flowtap $(B)/host/cli/mkarchive $(B)/host/bench/ete.d/snapshot.ini
	@echo '== pipelines'
	$(Q)B=$(B) selftests/bench/pipelines
