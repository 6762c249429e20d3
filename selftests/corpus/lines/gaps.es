Tarmac Text Rev 3t
          1 clk E DebugEvent_TraceGap start
                    E DebugEvent_TraceNote context A64 EL1 nonsecure 64 contextid=2a
          2 clk ES  (0000000000210800:d2800060) O el1h_ns:        .inst 0xd2800060
          3 clk E DebugEvent_TraceGap no_code since=0.000000001 until=0.000000002 size=unknown address=30 detail=; // a?b
          4 clk ES  (0000000000210800:d2800060) O el1h_ns:        .inst 0xd2800060
          5 clk E DebugEvent_TraceGap unexplained
          6 clk ES  (0000000000210800:d2800060) O el1h_ns:        .inst 0xd2800060
          7 clk E DebugEvent_TraceGap no_image 210804
                    E DebugEvent_TraceNote transaction start
                    E DebugEvent_TraceNote event 3
                    E DebugEvent_TraceNote context A64 EL1 nonsecure 64 contextid=2b pid=16 tid=17 cpu=0
          8 clk ES  (0000000000210824:d61f0000) O el1h_ns:        .inst 0xd61f0000
          9 clk E DebugEvent_TraceGap q_range 10 20 3
         10 clk E DebugEvent_TraceGap transfer 10 20 unknown
         11 clk E DebugEvent_TraceGap callstack 10 20
         12 clk ES  (0000000000210824:d61f0000) O el1h_ns:        .inst 0xd61f0000
         13 clk E DebugEvent_TraceGap unexplained
         14 clk ES  (0000000000210800:d2800060) O el1h_ns:        .inst 0xd2800060
                    E DebugEvent_TraceNote ite EL0 ff
