import { sentence } from '../sentence';
import { judgedAlike, type CheckpointKind, type CheckpointSettings, type Judgement, type PartVerdict } from './verdict';
import { changesAny, type LayoutChange } from './layout';

const strategy = 'NVIDIA/NeMo at 00767249, nemo/collections/nlp/parts/nlp_overrides.py, NLPDDPStrategy.load_checkpoint';

const named: PartVerdict = {
  outcome: 'loads',
  reason: sentence`Megatron Core's distributed checkpoints hold every tensor whole, under its name in the model`,
  source: strategy,
};

const ranks: PartVerdict = {
  outcome: 'stops',
  reason: sentence`without mcore_gpt each rank reads the file of its tensor and pipeline rank: "Aborting training."`,
  source: strategy,
};

/** NeMo 1.x: distributed checkpoints of Megatron Core with `mcore_gpt`, otherwise a file for each rank. */
export const nemoCheckpoints: CheckpointKind = {
  assumed: { format: 'torch', reason: sentence`NeMo writes a file for each rank without mcore_gpt` },
  judge: (settings, change) => (settings.format === 'torch' ? judgeRanks(settings, change) : judgeNamed(settings, change)),
};

function judgeRanks(settings: CheckpointSettings, change: LayoutChange): Judgement {
  const isOfRanks = changesAny(change, 'tensor', 'pipeline', 'virtualStages', 'expert');
  if (!isOfRanks) return judgedAlike({ ...named, reason: sentence`every rank finds its file` }, settings);
  const [tensor, pipeline] = [String(change.after.tensor), String(change.after.pipeline)];
  return judgedAlike(
    ranks,
    settings,
    sentence`python examples/nlp/language_modeling/megatron_change_num_partitions.py --model_file=OLD.nemo --target_file=NEW.nemo --target_tensor_model_parallel_size=${tensor} --target_pipeline_model_parallel_size=${pipeline}, which keeps the weights only`,
  );
}

/** The distributed optimizer is written whole unless `dist_ckpt_parallel_dist_opt` is false. */
function judgeNamed({ loadsOptimizer, isReshardable, isSharded }: CheckpointSettings, { changed }: LayoutChange): Judgement {
  const isFixed = isSharded === true && !isReshardable && (changed.has('tensor') || changed.has('pipeline'));
  const source = 'NVIDIA/NeMo at 01146d3f, nemo/core/optim/mcore_optim.py 59';
  const reason = sentence`"dp_zero_gather_scatter" stores optimizer state for each tensor and pipeline rank`;
  const optimizer: PartVerdict = isFixed ? { outcome: 'stops', reason, source } : { ...named, source };
  return {
    weights: named,
    optimizer: loadsOptimizer ? optimizer : null,
    conversion: isFixed && loadsOptimizer ? sentence`start the file once as it is with model.dist_ckpt_parallel_dist_opt=true, save, then load that` : null, // prettier-ignore
  };
}
