Tarmac Text Rev 3t
          1 clk ES  (0000000000210800:d2800060) O el0t_ns:        .inst 0xd2800060
          2 clk E DebugEvent_TraceGap trace_on
          3 clk ES  (0000000000210800:d2800060) O el1h_ns:        .inst 0xd2800060
          4 clk E DebugEvent_TraceGap trace_on
          5 clk ES  (0000000000210800:d2800060) O el2h_ns:        .inst 0xd2800060
          6 clk E DebugEvent_TraceGap trace_on
