Tarmac Text Rev 3t (SP is synthetic)
          1 clk ES  (0000000000210800:d2800060) O el0t_ns:        .inst 0xd2800060
                    R SP_EL0 000000007fff0000
          2 clk ES  (0000000000210804:d503201f) O el0t_ns:        .inst 0xd503201f
          3 clk ES  (0000000000210808:94000006) O el0t_ns:        .inst 0x94000006
                    R X30 000000000021080c
                    BR (0000000000210820) O
          4 clk ES  (0000000000210820:d63f0000) O el0t_ns:        .inst 0xd63f0000
                    R SP_EL0 000000007ffefff0
                    R X30 0000000000210824
                    BR (0000000000210830) O
          5 clk ES  EXC [0x480] IRQ/vIRQ Lower EL using AArch64
                    BR (ffff000000010280) O
          6 clk ES  (ffff000000010280:d503201f) O el1h_ns:        .inst 0xd503201f
                    R SP_EL1 000000007ffeffe0
          7 clk ES  (ffff000000010284:d69f03e0) O el1h_ns:        .inst 0xd69f03e0
                    BR (0000000000210830) O
          8 clk ES  (0000000000210830:d65f03c0) O el0t_ns:        .inst 0xd65f03c0
                    R SP_EL0 000000007ffeffe0
                    BR (0000000000210830) O
                    R SP_EL0 000000007ffefff0
          9 clk ES  (0000000000210830:d65f03c0) O el0t_ns:        .inst 0xd65f03c0
                    BR (0000000000210830) O
                    R SP_EL0 000000007fff0000
         10 clk ES  (0000000000210830:d65f03c0) O el0t_ns:        .inst 0xd65f03c0
                    BR (0000000000210804) O
                    R SP_EL0 000000007fff0000
         11 clk E DebugEvent_TraceGap overflow
         12 clk ES  (0000000000210804:d503201f) O el0t_ns:        .inst 0xd503201f
                    R SP_EL0 000000007fff0000
         13 clk ES  (0000000000210808:94000006) O el0t_ns:        .inst 0x94000006
                    R X30 000000000021080c
                    BR (0000000000210820) O
