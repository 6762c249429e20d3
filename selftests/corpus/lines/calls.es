Tarmac Text Rev 3t
          1 clk ES  (0000000000210800:d2800060) O el1h_ns:        .inst 0xd2800060
          2 clk ES  (0000000000210804:d503201f) O el1h_ns:        .inst 0xd503201f
          3 clk ES  (0000000000210808:94000006) O el1h_ns:        .inst 0x94000006
                    R X30 000000000021080c
                    BR (0000000000210820) O
          4 clk ES  (0000000000210820:d63f0000) O el1h_ns:        .inst 0xd63f0000
                    R X30 0000000000210824
                    BR (0000000000210824) O
          5 clk ES  (0000000000210824:d61f0000) O el1h_ns:        .inst 0xd61f0000
                    BR (0000000000210830) O
          6 clk ES  (0000000000210830:d65f03c0) O el1h_ns:        .inst 0xd65f03c0
                    BR (0000000000210804) O
          7 clk ES  (0000000000210804:d503201f) O el1h_ns:        .inst 0xd503201f
          8 clk ES  (0000000000210808:94000006) O el1h_ns:        .inst 0x94000006
                    R X30 000000000021080c
                    BR (0000000000210820) O
          9 clk ES  (0000000000210820:d63f0000) O el1h_ns:        .inst 0xd63f0000
                    R X30 0000000000210824
                    BR (0000000000210824) O
         10 clk ES  (0000000000210824:d61f0000) O el1h_ns:        .inst 0xd61f0000
                    BR (0000000000210830) O
         11 clk ES  (0000000000210830:d65f03c0) O el1h_ns:        .inst 0xd65f03c0
                    BR (0000000000210840) O
         12 clk ES  (0000000000210840:b4000060) O el1h_ns:        .inst 0xb4000060
                    BR (000000000021084c) O
         13 clk E DebugEvent_TraceGap trace_on
         14 clk ES  (0000000000210840:b4000060) O el1h_ns:        .inst 0xb4000060
         15 clk E DebugEvent_TraceGap trace_on
         16 clk ES  (0000000000210840:b4000060) O el1h_ns:        .inst 0xb4000060
                    BR (000000000021084c) O
         17 clk E DebugEvent_TraceGap trace_on
         18 clk ES  (0000000000210840:b4000060) O el1h_ns:        .inst 0xb4000060
         19 clk E DebugEvent_TraceGap trace_on
