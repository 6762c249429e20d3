Tarmac Text Rev 3t
          1 clk ES  (000000000021080c:d503201f) O el0t_ns:        .inst 0xd503201f
          2 clk ES  (0000000000210810:d4000001) O el0t_ns:        .inst 0xd4000001
                    EXC [0x400] Synchronous Lower EL using AArch64
                    BR (ffff000000010280) O
          3 clk ES  (ffff000000010280:d503201f) O el1h_ns:        .inst 0xd503201f
          4 clk ES  (ffff000000010284:d69f03e0) O el1h_ns:        .inst 0xd69f03e0
                    BR (0000000000210820) O
          5 clk ES  EXC [0x480] IRQ/vIRQ Lower EL using AArch64
                    BR (ffff000000010280) O
          6 clk ES  EXC [0x380] SError/vSError Current EL with SP_ELx at ffff000000010280
                    BR (ffff000000010280) O
          7 clk ES  (ffff000000010280:d503201f) O el1h_ns:        .inst 0xd503201f
          8 clk ES  EXC [0x300] FIQ/vFIQ Current EL with SP_ELx
                    BR (ffff000000010280) O
          9 clk ES  (ffff000000010280:d503201f) O el1h_ns:        .inst 0xd503201f
         10 clk ES  (ffff000000010284:--------) O el1h_ns:
                    EXC [0x200] Synchronous Current EL with SP_ELx (12)
                    BR (ffff000000010280) O
         11 clk ES  (ffff000000010280:d503201f) O el1h_ns:        .inst 0xd503201f
         12 clk ES  (ffff000000010284:d69f03e0) O el1h_ns:        .inst 0xd69f03e0
                    BR (0000000000210820) O
         13 clk ES  (0000000000210820:--------) O el0t_ns:
                    EXC [0x400] Synchronous Lower EL using AArch64
         14 clk E DebugEvent_TraceGap trap
         15 clk ES  (0000000000210800:d2800060) O el0t_ns:        .inst 0xd2800060
         16 clk ES  Reset
                    BR (0000000000210800) O
         17 clk ES  (0000000000210800:d2800060) O el3h_s:         .inst 0xd2800060
         18 clk ES  EXC IRQ/vIRQ
         19 clk E DebugEvent_TraceGap overflow
         20 clk ES  (0000000000210800:d2800060) O el3h_s:         .inst 0xd2800060
         21 clk ES  EXC Debug Halt Mode Entry
                    BR (0000000000210800) O
         22 clk ES  (0000000000210800:d2800060) O el2h_realm:     .inst 0xd2800060
         23 clk ES  (0000000000210804:--------) O el2h_realm:
                    EXC Synchronous (3)
