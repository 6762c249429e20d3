Tarmac Text Rev 3t
          1 clk ES  (00008000:eb000000) A svc_s:          .inst 0xeb000000
                    R LR (SVC) 00008004
                    BR (00008008) A
          2 clk ES  (00008008:e12fff1e) A svc_s:          .inst 0xe12fff1e
                    BR (00008004) A
          3 clk ES  (00008004:1a000792) A svc_s:  CCFAIL  .inst 0x1a000792
          4 clk ES  (00008008:fa000000) A svc_s:          .inst 0xfa000000
                    R LR (SVC) 0000800c
                    BR (00008010) T
          5 clk ES  (00008010:f3af8000) T svc_s:          .inst 0xf3af8000
          6 clk ES  (00008014:bf00)     T svc_s:          .inst 0xbf00
          7 clk ES  (00008016:4770)     T svc_s:          .inst 0x4770
                    BR (00008018) T
          8 clk ES  (00008018:4780)     T svc_s:          .inst 0x4780
                    R LR 0000801b
                    BR (0000801a) T
          9 clk ES  (0000801a:b108)     T svc_s:          .inst 0xb108
         10 clk E DebugEvent_TraceGap trace_on
         11 clk ES  (00008000:eb000000) A svc_s:          .inst 0xeb000000
                    R LR (SVC) 00008004
                    BR (00008008) A
         12 clk ES  (00008008:e12fff1e) A svc_s:          .inst 0xe12fff1e
                    BR (00008004) A
         13 clk ES  (00008004:1a000792) A svc_s:  CCFAIL  .inst 0x1a000792
         14 clk ES  (00008008:fa000000) A svc_s:          .inst 0xfa000000
                    R LR (SVC) 0000800c
                    BR (00008010) T
         15 clk ES  (00008010:f3af8000) T svc_s:          .inst 0xf3af8000
         16 clk ES  (00008014:bf00)     T svc_s:          .inst 0xbf00
         17 clk ES  (00008016:4770)     T svc_s:          .inst 0x4770
                    BR (00008018) T
         18 clk ES  (00008018:4780)     T svc_s:          .inst 0x4780
                    R LR 0000801b
                    BR (0000801a) T
         19 clk ES  (0000801a:b108)     T svc_s:          .inst 0xb108
         20 clk E DebugEvent_TraceGap trace_on
         21 clk ES  (00008004:1a000792) A svc_s:          .inst 0x1a000792
                    BR (00009e54) A
         22 clk ES  (00009e54:--------) A svc_s:
                    EXC [0x10] Data Abort (12)
                    BR (00008000) A
         23 clk ES  (00008000:eb000000) A svc_ns:         .inst 0xeb000000
                    R LR (SVC) 00008004
                    BR (00008008) A
         24 clk ES  (00008008:e12fff1e) A usr_root:        .inst 0xe12fff1e
                    BR (00008004) A
         25 clk ES  (00008004:1a000792) A usr_root: CCFAIL .inst 0x1a000792
         26 clk ES  EXC [0x680] IRQ/vIRQ Lower EL using AArch32
                    BR (ffff000000010280) O
         27 clk ES  (ffff000000010280:d503201f) O el1h_ns:        .inst 0xd503201f
         28 clk ES  (ffff000000010284:d69f03e0) O el1h_ns:        .inst 0xd69f03e0
                    BR (00008008) A
         29 clk ES  (00008008:e12fff1e) A usr_ns:         .inst 0xe12fff1e
