import { sentence, type Sentence } from '../sentence';
import { judgedAlike, type CheckpointKind, type CheckpointSettings, type Judgement, type PartVerdict } from './verdict';
import { changesAny, type LayoutChange } from './layout';

const deepspeed = (file: string): string => `deepspeedai/DeepSpeed at edaa7221, ${file}`;

/** DeepSpeed's checkpoints: those that its engine writes, and universal ones that are made from them. */
export const deepspeedCheckpoints: CheckpointKind = {
  assumed: { format: 'plain', reason: sentence`checkpoint.load_universal is not set` },
  judge: (settings, change) => (settings.format === 'universal' ? judgeUniversal(settings, change) : judgePlain(settings, change)),
};

const conversion = sentence`python -m deepspeed.checkpoint.ds_to_universal --input_folder OLD --output_folder NEW, then load NEW with "checkpoint": {"load_universal": true}`;

const stopsAt = (reason: Sentence, file: string): PartVerdict => ({ outcome: 'stops', reason, source: deepspeed(file) });

const files: PartVerdict = {
  outcome: 'loads',
  reason: sentence`files of weights are those of each model-parallel rank, or of each layer of a pipeline`,
  source: deepspeed('deepspeed/runtime/engine.py 4438 to 4445, deepspeed/runtime/pipe/module.py 645 to 661'),
};

function judgePlain(settings: CheckpointSettings, { before, after, changed }: LayoutChange): Judgement {
  const weights = weightsVerdict(before.zeroStage, after.zeroStage, changed);
  const optimizer = settings.loadsOptimizer ? optimizerVerdict(settings, weights, changed) : null;
  const isWhole = weights.outcome === 'loads' && (optimizer === null || optimizer.outcome === 'loads');
  return { weights, optimizer, conversion: isWhole ? null : conversion };
}

function weightsVerdict(before: number | null, after: number | null, changed: LayoutChange['changed']): PartVerdict {
  if (changed.has('tensor'))
    return stopsAt(sentence`files of another number of tensor ranks are merged and split for inference only`, 'deepspeed/runtime/state_dict_factory.py 67 to 90'); // prettier-ignore
  if (changed.has('expert'))
    return stopsAt(sentence`a plain checkpoint takes the expert-parallel size that it was written with`, 'the tutorial universal-checkpointing.md'); // prettier-ignore
  if (changed.has('zeroStage') && (before === 3 || after === 3))
    return stopsAt(
      sentence`ZeRO stage 3 stores shards of the weights, other stages whole weights`,
      'deepspeed/checkpoint/ds_to_universal.py 1028',
    );
  return files;
}

function optimizerVerdict({ isSharded }: CheckpointSettings, weights: PartVerdict, changed: LayoutChange['changed']): PartVerdict {
  if (weights.outcome !== 'loads') return weights;
  if (isSharded === true && (changed.has('data') || changed.has('context')))
    return stopsAt(
      sentence`"Automatic adjustment of ZeRO's optimizer state partitioning with a new world size is not currently supported"`,
      'deepspeed/runtime/engine.py 4628 to 4632',
    );
  if (changesAny({ changed }, 'pipeline', 'stageLayers'))
    return stopsAt(sentence`optimizer state is that of the parameters of each stage`, 'deepspeed/runtime/engine.py 4665 to 4671');
  if (changed.has('zeroStage'))
    return {
      outcome: 'unknown',
      reason: sentence`stages of ZeRO keep optimizer state in files of their own`,
      source: deepspeed('deepspeed/runtime/engine.py 4613 to 4640'),
    };
  return { ...files, reason: sentence`each rank reads its own shard` };
}

/** Universal checkpoints hold each parameter whole; of ZeRO stage 3 only numbers of replicas are documented. */
function judgeUniversal(settings: CheckpointSettings, change: LayoutChange): Judgement {
  const isBeyond = change.after.zeroStage === 3 && changesAny(change, 'tensor', 'pipeline', 'zeroStage');
  const source = deepspeed('deepspeed/checkpoint/ds_to_universal.py and the tutorial universal-checkpointing.md');
  const part: PartVerdict = isBeyond
    ? { outcome: 'unknown', reason: sentence`with ZeRO stage 3 only other numbers of replicas and experts are documented`, source }
    : { outcome: 'loads', reason: sentence`a universal checkpoint holds every parameter and its moments whole`, source };
  return judgedAlike(part, settings);
}
