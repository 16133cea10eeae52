/** A way to train a model that a plan is made of. */
export interface Layout {
  readonly name: string;
  readonly gpus: number;
  /** As `--set` takes them. */
  readonly sets: readonly string[];
  readonly isSearched?: boolean;
}

const ofAll: readonly Layout[] = [
  { name: 'chosen-8', gpus: 8, sets: [] },
  { name: 'chosen-64', gpus: 64, sets: [] },
  {
    name: 'tensor-and-stages',
    gpus: 32,
    sets: ['layout.tensor=2', 'layout.pipeline=4', 'layout.virtualStages=1', 'training.recompute=full'],
  },
  {
    name: 'virtual-stages',
    gpus: 32,
    sets: ['layout.tensor=4', 'layout.pipeline=2', 'layout.virtualStages=2', 'training.recompute=selective'],
  },
  { name: 'three-stages', gpus: 24, sets: ['layout.tensor=2', 'layout.pipeline=3', 'training.sequenceParallel=true'] },
  {
    name: 'ring',
    gpus: 16,
    sets: ['layout.tensor=2', 'layout.context=2', 'training.contextParallelComm=ring', 'training.sequenceLength=16384'],
  },
  { name: 'ulysses', gpus: 16, sets: ['layout.context=2', 'layout.pipeline=2', 'training.contextParallelComm=all-to-all'] },
  {
    name: 'fp8',
    gpus: 16,
    sets: ['layout.tensor=2', 'training.gemmPrecision=fp8', 'training.fp8Recipe=blockwise', 'training.fp8ParamGather=true'],
  },
  { name: 'delayed', gpus: 16, sets: ['training.gemmPrecision=fp8', 'training.fp8Recipe=delayed', 'training.cudaGraphs=layers'] },
  { name: 'nvfp4', gpus: 16, sets: ['training.gemmPrecision=nvfp4', 'cluster.gpu=B200'] },
  { name: 'fp16', gpus: 16, sets: ['training.precision=fp16', 'training.zeroStage=0', 'layout.tensor=2'] },
  { name: 'zero-3', gpus: 16, sets: ['training.zeroStage=3', 'layout.pipeline=1', 'layout.tensor=1'] },
  {
    name: 'overlapped',
    gpus: 32,
    sets: ['training.overlapGradReduce=true', 'training.overlapParamGather=true', 'layout.tensor=4', 'training.asyncTensorParallel=true'],
  },
  { name: 'host', gpus: 16, sets: ['training.offloadOptimizer=true', 'layout.tensor=2', 'layout.pipeline=2'] },
  { name: 'activations-on-host', gpus: 8, sets: ['training.activationOffloadLayers=2', 'layout.pipeline=1', 'training.recompute=none'] },
  { name: 'modules', gpus: 16, sets: ['training.recompute=selective', 'training.recomputeModules=["layernorm","mlp"]', 'layout.tensor=2'] },
  { name: 'unfused', gpus: 16, sets: ['training.attention=unfused', 'training.dropout=true', 'training.fusedCrossEntropy=true'] },
  { name: 'searched-16', gpus: 16, sets: [], isSearched: true },
  { name: 'searched-64', gpus: 64, sets: [], isSearched: true },
];

const ofExperts: readonly Layout[] = [
  { name: 'experts', gpus: 64, sets: ['layout.tensor=2', 'layout.pipeline=4', 'layout.expert=8', 'layout.expertTensor=1'] },
  {
    name: 'deepep',
    gpus: 64,
    sets: ['layout.expert=8', 'layout.pipeline=2', 'training.expertDispatcher=deepep', 'training.overlapExpertComm=true'],
  },
  { name: 'hybridep', gpus: 64, sets: ['layout.expert=8', 'layout.pipeline=2', 'training.expertDispatcher=hybridep'] },
  {
    name: 'expert-modules',
    gpus: 64,
    sets: ['layout.expert=4', 'training.recompute=selective', 'training.recomputeModules=["moe_act","layernorm"]'],
  },
];

/** Layouts for a model of a `config.json`: every other one, those of experts where it has some. @param at of the model in its list. */
export function chooseLayouts(config: object, at: number): readonly Layout[] {
  const layouts = Object.keys(config).some((key) => key.includes('expert')) ? [...ofExperts, ...ofAll] : ofAll;
  return layouts.filter((layout, i) => layout.isSearched === true || i % 2 === at % 2 || ofExperts.includes(layout));
}
