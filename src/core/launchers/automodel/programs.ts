import { setBy } from '../../domain/capabilities';
import type { Capabilities, Program } from '../../run/facts';

const source =
  'NVIDIA-NeMo/Automodel at 36044ad3, nemo_automodel/components/distributed/config.py 304 to 394, mesh_utils.py 86 to 98, recipes/_dist_utils.py 212';

/** FSDP2 with the pipeline of torch.distributed. */
export const automodelCapabilities: Capabilities = {
  name: 'NeMo AutoModel',
  source,
  setBy: setBy(['tensor', 'pipeline', 'context', 'expert', 'sequenceParallel', 'microBatch', 'recompute', 'virtualStages']),
  refuses: [],
  recomputes: ['none', 'full'],
  hasFixedStageLayers: true,
  silent: {
    microBatch: 1,
    precision: 'bf16',
    recomputeGranularity: 'none',
    sequenceParallel: false,
    compile: false,
    fusedCrossEntropy: false,
  },
};

/** By `distributed.strategy`: Megatron-FSDP has tensor and context parallelism, DDP replicas only. */
const programs: Readonly<Record<string, Program>> = {
  fsdp2: { name: 'NeMo AutoModel with FSDP2', traits: { runtime: 'torchtitan' } },
  megatron_fsdp: {
    name: 'NeMo AutoModel with Megatron-FSDP',
    traits: { runtime: 'fsdp1' },
    capabilities: { ...automodelCapabilities, setBy: setBy(['tensor', 'context', 'sequenceParallel', 'microBatch', 'recompute']) },
  },
  ddp: {
    name: 'NeMo AutoModel with DDP',
    traits: { runtime: 'ddp' },
    capabilities: { ...automodelCapabilities, setBy: setBy(['microBatch', 'recompute']) },
  },
};

/** The program of a strategy; FSDP2 unless set otherwise. */
export function automodelProgram(strategy: string): Program | undefined {
  return new Map(Object.entries(programs)).get(strategy);
}
