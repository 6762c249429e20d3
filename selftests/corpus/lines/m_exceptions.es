Tarmac Text Rev 3t
          1 clk ES  (0000801c:df00)     T usr_ns:         .inst 0xdf00
                    EXC [11] SVCall (11)
                    BR (00008010) T
          2 clk ES  (00008010:f3af8000) T mon_ns:         .inst 0xf3af8000
          3 clk ES  (00008014:bf00)     T mon_ns:         .inst 0xbf00
          4 clk ES  (00008016:4770)     T mon_ns:         .inst 0x4770
          5 clk ES  EXC [15] SysTick (15)
                    BR (00008010) T
          6 clk ES  (00008010:f3af8000) T mon_ns:         .inst 0xf3af8000
          7 clk ES  (00008014:bf00)     T mon_ns:         .inst 0xbf00
          8 clk ES  (00008016:4770)     T mon_ns:         .inst 0x4770
          9 clk ES  (00008018:--------) T mon_ns:
                    EXC [5] BusFault (5)
                    BR (00008010) T
         10 clk ES  (00008010:f3af8000) T mon_ns:         .inst 0xf3af8000
         11 clk ES  (00008014:bf00)     T mon_ns:         .inst 0xbf00
         12 clk ES  (00008016:4770)     T mon_ns:         .inst 0x4770
         13 clk ES  EXC [24] External Interrupt at 00008018 (520)
                    BR (00008010) T
         14 clk ES  (00008010:f3af8000) T mon_ns:         .inst 0xf3af8000
         15 clk ES  (00008014:bf00)     T mon_ns:         .inst 0xbf00
         16 clk ES  (00008016:4770)     T mon_ns:         .inst 0x4770
         17 clk ES  EXC [24] Debug Halt Mode Entry at 00008018 (24)
                    BR (00008010) T
         18 clk ES  (00008010:f3af8000) T mon_ns:         .inst 0xf3af8000
         19 clk ES  (00008014:bf00)     T mon_ns:         .inst 0xbf00
         20 clk ES  (00008016:4770)     T mon_ns:         .inst 0x4770
         21 clk ES  EXC [26] Lockup at 00008018 (26)
                    BR (effffffe) T
         22 clk ES  EXC [2] NMI at effffffe (2)
                    BR (00008010) T
         23 clk ES  (00008010:f3af8000) T mon_ns:         .inst 0xf3af8000
         24 clk ES  (00008014:bf00)     T mon_ns:         .inst 0xbf00
         25 clk ES  (00008016:4770)     T mon_ns:         .inst 0x4770
         26 clk ES  EXC [25] Lazy FP push at 00008018 (25)
                    BR (00008018) T
         27 clk ES  (00008018:4780)     T mon_ns:         .inst 0x4780
                    R LR 0000801b
         28 clk ES  EXC [1] Reset (1)
                    BR (00008010) T
         29 clk ES  (00008010:f3af8000) T usr_ns:         .inst 0xf3af8000
         30 clk ES  (00008014:bf00)     T usr_ns:         .inst 0xbf00
         31 clk ES  (00008016:4770)     T usr_ns:         .inst 0x4770
