import type { Finding } from '../../findings';
import type { Facts, LauncherFile, Fact } from '../../run/facts';
import { choice, count, fixed, keep, on, wordFor, positiveNumber } from '../../languages/reads';
import { coreKeys, fp8FormatWords, fp8RecipeWords } from '../megatron/core-keys';
import { classKey, hubKey } from '../../languages/python/as-settings';
import { sharedExperts } from '../megatron/derived-facts';
import { checkpointPath, leavesOut, weightsOnlyFact } from '../tables/checkpoint-facts';
import { joined, row, rows, lenient, under, written, type Table } from '../tables/table';
import { optimizerKeys } from '../tables/optimizer-facts';
import { createKeyReader, factsPlace, type KeyReader } from '../tables/keys';
import { launcherFile } from '../tables/launcher-file';
import { anyOf, phrase, sizedClass, word, layerPattern } from '../tables/reads';
import { createResolver } from '../../languages/yaml/references';
import { parseYaml, type YamlDocument } from '../../languages/yaml/document';
import { sentence } from '../../sentence';
import { byDefault, from } from '../../domain/located';
import type { RopeScaling } from '../../domain/model';
import { coefficient } from '../megatron/detail-keys';
import { normalisedByScore, skippedLayers } from '../megatron/detail-facts';
import { llama3Scaling } from '../megatron/megatron-defaults';

/** Sizes of yarn by the names of `GPTModelProvider`, and of `MLATransformerConfig`. */
const yarnSizes = [
  ['factor', 'yarn_rotary_scaling_factor', 'rotary_scaling_factor'],
  ['originalPositions', 'yarn_original_max_position_embeddings', 'original_max_position_embeddings'],
  ['betaFast', 'yarn_beta_fast', 'beta_fast'],
  ['betaSlow', 'yarn_beta_slow', 'beta_slow'],
  ['mscale', 'yarn_mscale', 'mscale'],
  ['mscaleAllDim', 'yarn_mscale_all_dim', 'mscale_all_dim'],
] as const satisfies readonly (readonly [size: keyof RopeScaling, plain: string, latent: string])[];

/** What several keys of a model mean together, or follow from others in Megatron Core, whatever the recipe. */
function bridgeModelFacts(reader: KeyReader, facts: Facts): Facts {
  const { latentAttention, experts, bias, activeExperts, routerGroupTopk } = facts;
  const scaling = readScaling(reader, facts);
  return {
    ...normalisedByScore(facts),
    ...(scaling && { ropeScaling: scaling }),
    ...skippedLayers(reader.one('model.no_rope_freq', layerPattern), facts),
    ...(latentAttention?.value === true && {
      rotaryInterleaved: byDefault(true, sentence`latent attention rotates neighbours`),
    }),
    ...(experts && bias?.value === true && { routerBias: byDefault(true, sentence`the router has a bias where linear layers have one`) }),
    ...(experts &&
      activeExperts &&
      routerGroupTopk && { routerGroupBest: from(activeExperts, Math.floor(activeExperts.value / routerGroupTopk.value)) }),
  };
}

function readScaling(reader: KeyReader, { latentAttention }: Facts): Fact<RopeScaling> | undefined {
  const isLatent = latentAttention?.value === true;
  const isScaled = reader.one('model.rope_scaling', on(true));
  if (isScaled?.value === true) {
    const factor = reader.one('model.rope_scaling_factor', positiveNumber)?.value ?? 1;
    return { ...isScaled, value: { ...llama3Scaling, factor } };
  }
  const divided = reader.one('model.seq_len_interpolation_factor', positiveNumber);
  if (divided !== undefined) return { ...divided, value: { kind: 'linear', factor: divided.value } };
  const sizes = yarnSizes.flatMap(([size, plain, latent]) => {
    const read = size === 'originalPositions' ? count(1) : coefficient;
    const given = reader.one(`model.${isLatent ? latent : plain}`, read);
    return given === undefined ? [] : [[size, given] as const];
  });
  const [first] = sizes;
  if (first === undefined) return undefined;
  const isRounded = reader.one('model.yarn_correction_range_round_to_int', on(true))?.value ?? true;
  const value = { kind: 'yarn', ...Object.fromEntries(sizes.map(([size, { value: given }]) => [size, given])) };
  return { ...first[1], value: isRounded || isLatent ? value : { ...value, isUnrounded: true } };
}

/** Names of Bridge's mixed-precision recipes: `bf16_mixed`, `bf16_with_fp8_current_scaling_mixed`, `bf16_with_nvfp4_mixed`. */
export const recipePrecision = anyOf((name) =>
  /nvfp4/i.test(name) ? 'nvfp4' : /fp8/i.test(name) ? 'fp8' : /bf16/i.test(name) ? 'bf16' : /fp16/i.test(name) ? 'fp16' : undefined,
);
/** Its recipes of FP8 but that with scales of blocks of 128 set `fp8_param_gather` (src/megatron/bridge/training/mixed_precision.py). */
const gathersFp8 = anyOf((name) => (/fp8[_-](?:delayed|current)|mxfp8/i.test(name) ? true : undefined));
/** Its recipes of fp16 reduce gradients in fp16. */
const reducesInFp32 = anyOf((name) => (/^fp16/i.test(name) ? false : undefined));
/** `nanov2_bf16_with_fp8_current_scaling_mixed` scales by blocks, whatever its name. */
const recipeScaling = anyOf((name) =>
  /mxfp8/i.test(name)
    ? 'mxfp8'
    : /fp8[_-]subchannel|nanov2.*fp8/i.test(name)
      ? 'blockwise'
      : /fp8[_-]current/i.test(name)
        ? 'tensorwise'
        : /fp8/i.test(name)
          ? 'delayed'
          : undefined,
);
const shardings = { optim: 1, optim_grads: 2, optim_grads_params: 3 } as const;

const ofOptimizer = under(['optimizer.'], optimizerKeys);

/** Overrides of a `ConfigContainer`. */
export const bridgeKeys: Table = joined(
  {
    flavor: [row(`model.${hubKey}`, word), row(`model.${classKey}`, sizedClass)],
    gatedMlp: [row('model.gated_linear_unit', on(true))],
    sequenceLength: [row('model.seq_length', count(1)), row('dataset.seq_length', count(1)), row('dataset.sequence_length', count(1))],
    microBatch: [row('train.micro_batch_size', count(1))],
    globalBatch: [row('train.global_batch_size', count(1))],
    batchSchedule: [row('train.rampup_batch_size', phrase)],
    precision: [
      row(
        'mixed_precision',
        written(recipePrecision, (value) => (typeof value === 'string' ? `${value}_mixed` : value)),
      ),
      row(`mixed_precision.${classKey}`, recipePrecision),
      row('mixed_precision.fp8', lenient(choice({ e4m3: 'fp8', hybrid: 'fp8' }))),
      row('mixed_precision.fp4', lenient(choice({ e2m1: 'nvfp4' }))),
      row('mixed_precision.bf16', fixed('bf16')),
      row('mixed_precision.fp16', fixed('fp16')),
      row('mixed_precision.dtype', recipePrecision),
    ],
    ...ofOptimizer,
    distributedOptimizer: [row('ddp.use_distributed_optimizer', on(true)), row('optimizer.use_distributed_optimizer', on(true))],
    zeroStage: [
      row(
        'ddp.data_parallel_sharding_strategy',
        written(
          anyOf((name) => (Object.hasOwn(shardings, name) ? shardings[name as keyof typeof shardings] : undefined)),
          (value) => (value === undefined ? undefined : (wordFor(shardings, value) ?? 'optim')),
        ),
      ),
    ],
    loadCheckpoint: rows(checkpointPath, 'checkpoint.load', 'checkpoint.pretrained_checkpoint'),
    checkpointFormat: [row('checkpoint.ckpt_format', word)],
    loadOptimizerState: [row('checkpoint.finetune', leavesOut), row('checkpoint.load_optim', on(true))],
    reshardableOptimizer: [row('checkpoint.dist_ckpt_optim_fully_reshardable', on(true))],
    asyncTensorParallel: [row('comm_overlap.tp_comm_overlap', on(true))],
    overlapP2p: [row('comm_overlap.overlap_p2p_comm', on(true))],
    // its setup writes this over what `ddp` gives
    gradAccumulationFp32: [
      row('mixed_precision.grad_reduce_in_fp32', on(true)),
      row('mixed_precision', reducesInFp32),
      row(`mixed_precision.${classKey}`, reducesInFp32),
      ...(ofOptimizer.gradAccumulationFp32 ?? []),
    ],
    stagesBeforeReplicas: [row('dist.use_tp_pp_dp_mapping', on(true))],
    overlapGradReduce: [row('ddp.overlap_grad_reduce', on(true))],
    overlapParamGather: [row('ddp.overlap_param_gather', on(true))],
    overlapExpertComm: [row('comm_overlap.overlap_moe_expert_parallel_comm', on(true))],
    fp8Recipe: [
      row('mixed_precision.fp8_recipe', lenient(choice(fp8RecipeWords))),
      row('mixed_precision', recipeScaling),
      row(`mixed_precision.${classKey}`, recipeScaling),
    ],
    fp8Format: [row('mixed_precision.fp8', lenient(choice(fp8FormatWords)))],
    fp8ParamGather: [
      row('mixed_precision', gathersFp8),
      row(`mixed_precision.${classKey}`, gathersFp8),
      row('mixed_precision.fp8_param_gather', on(true)),
    ],
    recomputeGranularity: [row('model.recompute_granularity', keep(['full', 'selective', 'none']))],
  },
  under(['model.'], coreKeys),
);

/**
 * What the YAML overrides of a Megatron-Bridge recipe (a `ConfigContainer`: `model`, `train`, `ddp`, ...) say. The recipe itself is Python:
 * what it sets is unknown here, and nothing is filled in.
 * @throws ExpectedError for text that is not a YAML mapping, placed; see `parseYaml`.
 */
export function readMegatronBridge(file: string, text: string): LauncherFile {
  return bridgeFile(parseYaml(file, text), 'megatron-bridge');
}

/** The same of settings of a `ConfigContainer`, wherever they are. */
export function bridgeFile(document: YamlDocument, format: 'megatron-bridge' | 'bridge-python'): LauncherFile {
  const reader = createKeyReader(document, createResolver(document.root));
  const written = reader.facts(bridgeKeys);
  const facts = {
    ...written,
    ...bridgeModelFacts(reader, written),
    ...sharedExperts(written),
    ...weightsOnlyFact(written, /pretrained_checkpoint$/),
  };
  return launcherFile(document, format, facts, { ...reader, also: sizesRemark(document, facts) });
}

function sizesRemark(document: YamlDocument, facts: Facts): readonly Finding[] {
  const { layers, hidden, heads, flavor } = facts;
  if (layers !== undefined && hidden !== undefined && heads !== undefined) return [];
  return [
    {
      code: 'sizes-unknown',
      severity: 'information',
      place: flavor?.source.kind === 'file' ? flavor.source.place : factsPlace(document, facts),
      message: sentence`Megatron-Bridge keeps the sizes of this model in the Python recipe that the file overrides`,
      remedy: sentence`name the model's HuggingFace config.json as "model" in a terapipe.json`,
      fixes: [],
    },
  ];
}
