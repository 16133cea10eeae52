import { sentence, type Sentence } from '../sentence';
import type { CheckpointSettings, Judgement, PartVerdict } from './verdict';
import type { LayoutChange } from './layout';

const checkpointing = (lines: string): string => `NVIDIA/Megatron-LM at d98e8a64, megatron/training/checkpointing.py ${lines}`;
const bufferSizes = 'NVIDIA/Megatron-LM at d98e8a64, megatron/core/optimizer/distrib_optimizer.py 2300';

/** Megatron-LM's format `torch`: a file for each tensor, pipeline and expert rank, with the modules by their place on it. */
export function judgeTorch(settings: CheckpointSettings, change: LayoutChange): Judgement {
  const weights = weightsVerdict(settings, change);
  const optimizer = settings.loadsOptimizer ? optimizerVerdict(settings, change, weights) : null;
  const isWhole = [weights, optimizer].every((part) => part === null || part.outcome === 'loads');
  return { weights, optimizer, conversion: isWhole ? null : conversion(settings, change) };
}

function weightsVerdict({ comparesArguments }: CheckpointSettings, { before, after, changed }: LayoutChange): PartVerdict {
  if (changed.has('tensor') || changed.has('expertTensor')) return changed.has('tensor') && comparesArguments ? otherRanks : otherShapes;
  if (changed.has('pipeline')) return (after.pipeline ?? 1) > (before.pipeline ?? 1) || comparesArguments ? otherRanks : missingLayers;
  if (changed.has('expert')) return expertVerdict(before.expert ?? 1, after.expert ?? 1);
  if (changed.has('virtualStages')) return after.virtualStages === 1 ? noModel : missingModels;
  if (changed.has('stageLayers')) return missingLayers;
  return { outcome: 'loads', reason: sentence`every rank finds its file, with its modules`, source: checkpointing('230 to 276') };
}

const stopsAt = (reason: Sentence, source: string): PartVerdict => ({ outcome: 'stops', reason, source });
const initialisesAt = (reason: Sentence, lines: string): PartVerdict => ({ outcome: 'initialises', reason, source: checkpointing(lines) });

const otherRanks = stopsAt(
  sentence`each rank reads the file of its tensor and pipeline rank, whose sizes must be equal`,
  checkpointing('2109 and 220 to 221'),
);
const otherShapes = stopsAt(sentence`tensors in the file of a rank have other shapes, which PyTorch refuses`, checkpointing('2930'));
const missingLayers = initialisesAt(
  sentence`layers that a rank's file lacks keep their random initial weights (strict=False)`,
  '2925 to 2931',
);
const noModel = stopsAt(sentence`a file of several virtual stages has no "model" (KeyError)`, checkpointing('2944'));
const missingModels = initialisesAt(
  sentence`virtual stages that the file lacks keep random initial weights; others get other layers`,
  '2946 to 2951',
);

function expertVerdict(before: number, after: number): PartVerdict {
  if (before === 1 || after === 1 || after > before)
    return stopsAt(sentence`names of files end in the expert rank: "could not load the checkpoint"`, checkpointing('269 to 274 and 2109'));
  return initialisesAt(sentence`experts that a rank's file lacks keep their random initial weights (strict=False)`, '2925 to 2931');
}

/** Weights are loaded before the optimizer state: what stops there stops the run. */
function optimizerVerdict({ isSharded }: CheckpointSettings, { before, changed }: LayoutChange, weights: PartVerdict): PartVerdict {
  const { outcome } = weights;
  if (outcome === 'stops') return weights;
  if (changed.has('zeroStage'))
    return before.zeroStage === 0
      ? stopsAt(sentence`there is no distrib_optim.pt`, 'NVIDIA/Megatron-LM at d98e8a64, megatron/core/optimizer/distrib_optimizer.py 2562')
      : stopsAt(
          sentence`the file has no fp32 weights of its own: "Unable to load optimizer from checkpoint"`,
          checkpointing('3047 to 3054'),
        );
  if (outcome === 'initialises') {
    if (isSharded === true) return stopsAt(sentence`buffers of the distributed optimizer have other sizes`, bufferSizes);
    if (!changed.has('virtualStages')) return stopsAt(sentence`PyTorch refuses a parameter group of another size`, checkpointing('2976'));
    return { ...weights, reason: sentence`fp32 weights and moments are copied by place, so that layers get those of others` };
  }
  return {
    outcome: 'loads',
    reason: sentence`it is gathered in one file for each rank, and scattered again`,
    source: checkpointing('2976 to 2998'),
  };
}

/** Megatron-LM converts at the layout of the file, with which it loads. */
function conversion({ loadsOptimizer, isSharded }: CheckpointSettings, { after, changed }: LayoutChange): Sentence {
  const resharded = loadsOptimizer && isSharded === true ? ' --dist-ckpt-optim-fully-reshardable' : '';
  const whole = sentence`start the file once as it is with --ckpt-convert-format torch_dist --ckpt-convert-save DIR${resharded}, then load DIR/torch_dist with --ckpt-format torch_dist`;
  if (!changed.has('tensor') && !changed.has('pipeline')) return whole;
  const sizes = `--target-tensor-parallel-size ${String(after.tensor)} --target-pipeline-parallel-size ${String(after.pipeline)}`;
  return sentence`${whole}; or convert the weights only with python tools/checkpoint/convert.py --model-type GPT --loader core --saver core --load-dir OLD --save-dir NEW ${sizes}`;
}
