Tarmac Text Rev 3t (RV64)
          1 clk ES  (0000000080000000:450d)     O el0t_ns:        .2byte 0x450d
          2 clk ES  (0000000080000002:006000ef) O el0t_ns:        .4byte 0x6000ef
                    R X30 0000000080000006
                    BR (0000000080000008) O
          3 clk ES  (0000000080000008:000302e7) O el0t_ns:        .4byte 0x302e7
                    BR (0000000080000010) O
          4 clk ES  (0000000080000010:00000073) O el0t_ns:        .4byte 0x73
                    EXC [0x400] Synchronous Lower EL using AArch64 (8)
                    BR (0000000080000020) O
          5 clk ES  (0000000080000020:8082)     O el1h_ns:        .2byte 0x8082
                    BR (0000000080000000) O
          6 clk ES  EXC [0x280] IRQ/vIRQ Current EL with SP_ELx
                    BR (0000000080000020) O
          7 clk ES  (0000000080000020:8082)     O el1h_ns:        .2byte 0x8082
                    BR (0000000000000000) O
