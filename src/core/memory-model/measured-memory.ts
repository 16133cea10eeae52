/** Written by `npm run golden -- --write-readme` from the runs of docs/accuracy.md whose memory was measured. */
export const measuredMemory = [
  {
    runtime: 'megatron',
    runs: 56,
    over: 1.07,
    beyond: 6,
  },
  {
    runtime: 'torchtitan',
    runs: 9,
    over: 1.02,
    beyond: 1,
  },
  {
    runtime: 'deepspeed',
    runs: 64,
    over: 1.13,
    beyond: 5,
  },
] as const;

/** Written with them: of all these runs together, for runtimes that nobody measured. */
export const measuredMemoryOfAll = { runs: 129, over: 1.1, beyond: 12 } as const;
