import type { Capabilities } from '../run/facts';
import type { Runtime } from '../domain/runtime';
import { setBy, shardedPipeline, zero3WithExperts, zeroWithPipeline, wholeLayersOnly } from '../domain/capabilities';
import { megatronCapabilities } from './launcher';
import { nanotron } from './nanotron';
import { torchtitan } from './torchtitan';

/** What a runtime runs that a file of no launcher names: such a file can express all of it. */
export const runtimeCapabilities: Readonly<Record<Runtime, Capabilities>> = {
  megatron: { ...megatronCapabilities, refuses: [shardedPipeline] },
  torchtitan: torchtitan.capabilities,
  fsdp1: {
    name: 'FSDP',
    source: 'torch/distributed/fsdp/fully_sharded_data_parallel.py of PyTorch 2.6: data parallelism',
    setBy: setBy(['microBatch', 'recompute', 'dataReplicate', 'offloadOptimizer']),
    refuses: [],
    recomputes: wholeLayersOnly,
    silent: {},
  },
  ddp: {
    name: 'DDP',
    source: 'torch/nn/parallel/distributed.py of PyTorch 2.6: data parallelism',
    setBy: setBy(['microBatch', 'recompute']),
    refuses: [],
    recomputes: wholeLayersOnly,
    silent: {},
  },
  deepspeed: {
    name: 'DeepSpeed',
    source: 'deepspeedai/Megatron-DeepSpeed at 4efb479d, megatron/arguments.py, and deepspeed/runtime/pipe/engine.py 76',
    setBy: setBy(['tensor', 'pipeline', 'microBatch', 'recompute', 'zeroStage', 'offloadOptimizer']),
    refuses: [zeroWithPipeline, zero3WithExperts],
    recomputes: wholeLayersOnly,
    silent: {},
  },
  nanotron: nanotron.capabilities,
  terapipe: {
    name: 'TeraPipe',
    source: 'zhuohan123/terapipe, Megatron-LM of 2020',
    setBy: setBy(['tensor', 'pipeline', 'microBatch', 'recompute', 'zeroStage', 'offloadOptimizer']),
    refuses: [],
    recomputes: wholeLayersOnly,
    silent: {},
  },
};
