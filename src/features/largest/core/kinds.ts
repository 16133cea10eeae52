/** What the largest of is looked for. */
export const largestKinds = ['sequence', 'micro-batch', 'layers', 'lora-rank', 'experts', 'fewest-gpus'] as const;
export type LargestKind = (typeof largestKinds)[number];

/** What sizes are counted in, one of it. */
export const largestUnits: Readonly<Record<LargestKind, string>> = {
  sequence: 'token',
  'micro-batch': 'sequence',
  layers: 'layer',
  'lora-rank': 'column',
  experts: 'expert',
  'fewest-gpus': 'GPU',
};
