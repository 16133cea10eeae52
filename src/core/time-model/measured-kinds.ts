/** Written by `npm run golden -- --write-readme` from the runs of docs/accuracy.md, each kind of at least five. */
export const measuredKinds = [
  {
    runtime: 'megatron',
    generation: 'A100',
    experts: false,
    rows: 107,
    low: 0.94,
    high: 1.07,
  },
  {
    runtime: 'megatron',
    generation: 'B200',
    experts: false,
    rows: 45,
    low: 0.93,
    high: 1.06,
  },
  {
    runtime: 'megatron',
    generation: 'B200',
    experts: true,
    rows: 60,
    low: 0.91,
    high: 1.23,
  },
  {
    runtime: 'megatron',
    generation: 'H100',
    experts: true,
    rows: 10,
    low: 0.96,
    high: 1.17,
  },
  {
    runtime: 'megatron',
    generation: 'H100',
    experts: false,
    rows: 9,
    low: 0.98,
    high: 1.07,
  },
  {
    runtime: 'fsdp1',
    generation: 'H100',
    experts: false,
    rows: 35,
    low: 0.95,
    high: 1.06,
  },
  {
    runtime: 'fsdp1',
    generation: 'A100',
    experts: false,
    rows: 37,
    low: 0.94,
    high: 1.05,
  },
  {
    runtime: 'torchtitan',
    generation: 'H100',
    experts: false,
    rows: 21,
    low: 0.91,
    high: 1.08,
  },
  {
    runtime: 'deepspeed',
    generation: 'A100',
    experts: false,
    rows: 87,
    low: 0.94,
    high: 1.1,
  },
  {
    runtime: 'deepspeed',
    generation: 'V100',
    experts: false,
    rows: 5,
    low: 1,
    high: 1.37,
  },
] as const;

/** Written with them: what a range of other sources misses of one that is left out. */
export const unseenWidening = {
  dense: {
    low: 0.98,
    high: 1.04,
  },
  experts: {
    low: 0.92,
    high: 1.1,
  },
} as const;
