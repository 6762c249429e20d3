# SPDX-License-Identifier: GPL-2.0-only
# What the demo runs beside the plugin.
model-in-lab: $(B)/host/model/logdump $(B)/host/flowtap
