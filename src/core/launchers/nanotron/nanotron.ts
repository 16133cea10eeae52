import { byDefault } from '../../domain/located';
import type { Facts, LauncherFile } from '../../run/facts';
import { choice, count, fixed, on } from '../../languages/reads';
import { row, lenient, under, written, type Table } from '../tables/table';
import { createKeyReader, type KeyReader } from '../tables/keys';
import { launcherFile } from '../tables/launcher-file';
import { environmentOnly } from '../../languages/yaml/references';
import { anyOf, torchDtypes, word } from '../tables/reads';
import { parseYaml } from '../../languages/yaml/document';
import { sentence } from '../../sentence';

/** Schedules by nanotron's names of them (`pp_engine`); GPipe is all forwards before all backwards. */
export const nanotronEngines = { '1f1b': '1F1B', afab: 'GPipe' } as const;

/** Fields of its `LlamaConfig` and `Qwen2Config`. */
const modelKeys: Table = {
  layers: [row('num_hidden_layers', count(1))],
  hidden: [row('hidden_size', count(1))],
  heads: [row('num_attention_heads', count(1))],
  kvHeads: [row('num_key_value_heads', count(1))],
  ffn: [row('intermediate_size', count(1))],
  vocab: [row('vocab_size', count(1))],
  maxPositions: [row('max_position_embeddings', count(1))],
  tiedEmbeddings: [row('tie_word_embeddings', on(true))],
  experts: [row('moe_config.num_experts', count(1))],
  activeExperts: [row('moe_config.top_k', count(1))],
  expertFfn: [row('moe_config.moe_intermediate_size', count(1))],
};

/** `Config` of src/nanotron/config/config.py. */
export const nanotronKeys: Table = {
  ...under(['model.model_config.'], modelKeys),
  tensor: [row('parallelism.tp', count(1))],
  pipeline: [row('parallelism.pp', count(1))],
  data: [row('parallelism.dp', count(1))],
  context: [row('parallelism.context_parallel_size', count(1))],
  expert: [row('parallelism.expert_parallel_size', count(1))],
  schedule: [row('parallelism.pp_engine', lenient(choice(nanotronEngines)))],
  sequenceParallel: [
    row(
      'parallelism.tp_mode',
      written(
        anyOf((word) => /^reduce_scatter$/i.test(word)),
        (value) => (value === true ? 'REDUCE_SCATTER' : 'ALL_REDUCE'),
      ),
    ),
  ],
  asyncTensorParallel: [row('parallelism.tp_linear_async_communication', on(true))],
  recomputeGranularity: [
    row(
      'parallelism.recompute_layer',
      written(fixed('full'), (value) => value === 'full'),
    ),
  ],
  sequenceLength: [row('tokens.sequence_length', count(1))],
  microBatch: [row('tokens.micro_batch_size', count(1))],
  gradientAccumulation: [row('tokens.batch_accumulation_per_replica', count(1))],
  precision: [row('model.dtype', lenient(choice(torchDtypes)))],
  optimizer: [row('optimizer.optimizer_factory.name', word)],
  // any stage above 0 is stage 1 (src/nanotron/helpers.py 409)
  zeroStage: [
    row(
      'optimizer.zero_stage',
      anyOf((stage) => (/^[0-3]$/.test(stage) ? Math.min(1, Number(stage)) : undefined)),
    ),
  ],
  gradAccumulationFp32: [row('optimizer.accumulate_grad_in_fp32', on(true))],
};

/**
 * nanotron's YAML (`src/nanotron/config/config.py`): sections `model`, `parallelism`, `tokens` and `optimizer`. Its Llama has rotary
 * positions, RMSNorm, a gated feed-forward and no biases.
 * @throws ExpectedError for text that is not a YAML mapping, placed; see `parseYaml`.
 */
export function readNanotron(file: string, text: string): LauncherFile {
  const document = parseYaml(file, text, 'last');
  const reader = createKeyReader(document, environmentOnly);
  const facts = reader.facts(nanotronKeys);
  const all = { ...nanotronDefaults(facts), ...facts };
  return { ...launcherFile(document, 'nanotron', all, reader), ...gatheredOnce(facts, reader) };
}

/** Inputs that are gathered once and kept: every plan counts them gathered again. */
function gatheredOnce({ tensor, sequenceParallel }: Facts, reader: KeyReader): Pick<LauncherFile, 'leftOut'> {
  const isKept = reader.one('parallelism.tp_recompute_allgather', on(true))?.value === false;
  const hasGathers = (tensor?.value ?? 1) > 1 && sequenceParallel?.value === true;
  return isKept && hasGathers ? { leftOut: ['parallelism.tp_recompute_allgather: false'] } : {};
}

function nanotronDefaults({ heads, recomputeGranularity }: Facts): Facts {
  const reason = sentence`hard-coded in nanotron's Llama`;
  const byLayer = sentence`nanotron recomputes layer by layer`;
  return {
    context: byDefault(1, sentence`nanotron default: context_parallel_size 1`),
    expert: byDefault(1, sentence`nanotron default: expert_parallel_size 1`),
    gatedMlp: byDefault(true, reason),
    norm: byDefault('rmsnorm', reason),
    positions: byDefault('rotary', reason),
    bias: byDefault(false, reason),
    tiedEmbeddings: byDefault(false, sentence`nanotron default: tie_word_embeddings false`),
    ...(heads && { kvHeads: byDefault(heads.value, sentence`nanotron: without num_key_value_heads, as many as attention heads`) }),
    ...(recomputeGranularity && { recomputeMethod: byDefault('uniform', byLayer), recomputeLayers: byDefault(1, byLayer) }),
  };
}
