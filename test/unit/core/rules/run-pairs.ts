export const model = { layers: 24, hidden: 2048, heads: 16, vocab: 0 };
export const routed = { ...model, experts: 8, activeExperts: 2 };

/** For each rule only of terapipe.json a config that breaks it and one that does not. */
export const ownPairs: readonly {
  readonly code: string;
  readonly bad: object;
  readonly ok: object;
  readonly message: string;
  readonly fixes: readonly string[];
}[] = [
  {
    code: 'tensor-beyond-node',
    bad: { model, cluster: { gpu: 'A100-80GB', nodes: 2 }, layout: { tensor: 16 } },
    ok: { model, cluster: { gpu: 'A100-80GB', nodes: 2 }, layout: { tensor: 8 } },
    message: 'A tensor size of 16 crosses nodes of 8 GPUs: every layer waits for the network',
    fixes: ['Set layout.tensor to 8'],
  },
  {
    code: 'expert-dense-model',
    bad: { model, layout: { expert: 2 } },
    ok: { model: routed, layout: { expert: 2 } },
    message: 'An expert size of 2 has no effect: the model is dense',
    fixes: ['Set layout.expert to 1'],
  },
  {
    code: 'schedule-virtual-stages',
    bad: { model, schedule: 'ZBVZeroBubble', layout: { pipeline: 4, virtualStages: 3 } },
    ok: { model, schedule: 'ZBVZeroBubble', layout: { pipeline: 4, virtualStages: 2 } },
    message: 'ZBVZeroBubble has 2 virtual stages on each stage, not 3',
    fixes: ['Set layout.virtualStages to 2'],
  },
  {
    code: 'scheme-mismatch',
    bad: { model, training: { sequenceLength: 128, globalBatch: 2 }, slicing: { scheme: [[2, [64, 32]]] } },
    ok: { model, training: { sequenceLength: 128, globalBatch: 2 }, slicing: { scheme: [[2, [64, 64]]] } },
    message: 'The slices of a sequence add up to 96 tokens, and a sequence has 128 tokens',
    fixes: [],
  },
  {
    code: 'sequence-unit',
    bad: { model, training: { sequenceLength: 2048 }, slicing: { unit: 96 } },
    ok: { model, training: { sequenceLength: 2048 }, slicing: { unit: 64 } },
    message: '2,048 tokens are not a multiple of the slicing unit of 96: one slice is shorter',
    fixes: ['Set slicing.unit to 32'],
  },
  {
    code: 'precision-slow',
    bad: { model, cluster: { gpu: 'V100-16GB' }, training: { precision: 'bf16' } },
    ok: { model, cluster: { gpu: 'V100-16GB' }, training: { precision: 'fp16' } },
    message: 'bf16 runs at',
    fixes: ['Set training.precision to fp16'],
  },
];
