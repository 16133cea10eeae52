import { accelerateBases, accelerateFacts, detectAccelerateProgram, fsdpHybrid, fsdpStage, offloaded } from '../accelerate/accelerate';
import { allLinear, type AdapterDefaults, type GivenAdapters } from '../../run/adapters';
import { adapterSettings, kindFlags, libraryDefaults } from '../tables/adapters';
import { ownLayer, type Layer } from '../../languages/layers';
import { byDefault } from '../../domain/located';
import { setBy, wholeLayersOnly, zero3WithAutoTensor } from '../../domain/capabilities';
import { quoted } from '../../text';
import type { Capabilities, Facts, LauncherFile, Program } from '../../run/facts';
import { llamaFactory, swift, trainer, buildTrainerProgram, trl } from '../hf-trainer/programs';
import { flagFact, type LocatedFlag } from '../tables/located-flag';
import { flagKey } from '../megatron/megatron-flags';
import { choice, count, nodeCount, processCount, type FlagRead } from '../../languages/reads';
import { factorySwitches, rankArgument, trainerOptimizer } from '../tables/optimizer-facts';
import { isJson, optimizerOfDeepSpeed, readShardingFacts, withCheckpointing } from '../deepspeed/trainer-files';
import { checkpointPath, stateDictKeys } from '../tables/checkpoint-facts';
import { factsOfTable, tableReads, row, rows, type FlagTable, lenient } from '../tables/table';
import type { ShellProgram } from '../shell/program';
import { vocabOfName } from '../tables/tokenizers';
import { settingsOfFlags } from '../tables/written-settings';
import { pathWord, torchDtypes, word } from '../tables/reads';
import { swiftProcesses } from '../megatron-swift/environment';
import { metaseqFacts, modelOfMetaseq } from './metaseq';
import { isTrainerScript } from './recognise';
import { modelOfHub } from '../../huggingface/hub-models';
import { readHuggingFace } from '../../huggingface/reader';
import { greatestCommonDivisor } from '../../numbers';
import { counted, sentence } from '../../sentence';

/** A switch that may be followed by its truth: `--bf16`, `--bf16 True`. */
function toggle<const T>(value: T): FlagRead<T> {
  return { words: 'many', of: ([written = 'true']) => (/^(true|yes|on|1)$/i.test(written) ? { value } : { silent: true }) };
}

/** An option that turns something on, whatever it names. */
function always<const T>(value: T): FlagRead<T> {
  return { words: 'one', of: ([written = '']) => (/^(none|null|)$/i.test(written) ? { silent: true } : { value }) };
}

/** `attn_implementation` of Transformers. */
const attentionWord = lenient(choice({ flash_attention_2: 'flash', flash_attention_3: 'flash', sdpa: 'flash', eager: 'unfused' }));
const kernelWord = lenient(choice({ flash_attention_2: 'flash2', flash_attention_3: 'flash3', sdpa: null, eager: null }));

/** A switch with a value for on and one for off. */
function either<const T, const U>(on: T, off: U): FlagRead<T | U> {
  return { words: 'many', of: ([written = 'true']) => ({ value: /^(true|yes|on|1)$/i.test(written) ? on : off }) };
}

/** One of the settings of `--config_overrides`: `n_embd=768,n_layer=12`. */
function overridden(name: string): FlagRead<number> {
  return {
    words: 'one',
    of: ([written = '']) => {
      const found = new RegExp(`(?:^|,)${name}=(\\d{1,9})(?:,|$)`).exec(written)?.[1];
      return found === undefined ? { silent: true } : { value: Number(found) };
    },
  };
}

/** FSDP by its strategy: `full_shard auto_wrap`, `shard_grad_op`. */
const sharding: FlagRead<number> = {
  words: 'many',
  of: (words) => {
    const written = words.join(' ');
    return /full_shard|hybrid_shard/.test(written) ? { value: 3 } : written.includes('shard_grad_op') ? { value: 2 } : { silent: true };
  },
};

const hybrid: FlagRead<boolean> = {
  words: 'many',
  of: (words) => (words.join(' ').includes('hybrid_shard') ? { value: true } : { silent: true }),
};

const sizes = count(1);
const mixedPrecision = lenient(choice({ bf16: 'bf16', fp16: 'fp16', fp8: 'fp8' }));
/** In which type the model is loaded: `dtype` since Transformers 4.56. */
const dtypeKeys = ['torch-dtype', 'dtype'];
const lengths = ['max-seq-length', 'model-max-length', 'cutoff-len', 'block-size', 'max-seq-len', 'max-length', 'max-len', 'pack-length'];

/**
 * Flags of transformers' TrainingArguments, of TRL, LLaMA-Factory, Accelerate, DeepSpeed's examples, open-instruct, OpenRLHF and metaseq,
 * by `flagKey`.
 */
const table: FlagTable = {
  flavor: rows(
    pathWord,
    'model-name-or-path',
    'model-id-or-path',
    'pretrain',
    'actor-model-name-or-path',
    'model',
    'model-name',
    'model-size',
  ),
  layers: [row('n-layer', sizes), row('config-overrides', overridden('n_layer'))],
  hidden: [row('n-embd', sizes), row('config-overrides', overridden('n_embd'))],
  heads: [row('n-head', sizes), row('config-overrides', overridden('n_head'))],
  ffn: [row('n-inner', sizes), row('config-overrides', overridden('n_inner'))],
  maxPositions: [row('n-positions', sizes), row('config-overrides', overridden('n_positions'))],
  vocab: [row('tokenizer-name', vocabOfName)],
  sequenceLength: rows(sizes, ...lengths),
  microBatch: rows(sizes, 'per-device-train-batch-size', 'per-gpu-train-batch-size', 'micro-train-batch-size'),
  globalBatch: [row('train-batch-size', sizes)],
  gradientAccumulation: [row('gradient-accumulation-steps', sizes)],
  precision: [
    row('pure-bf16', toggle('bf16')),
    row('bf16', toggle('bf16')),
    row('fp16', toggle('fp16')),
    row('mixed-precision', mixedPrecision),
    ...rows(lenient(choice(torchDtypes)), ...dtypeKeys),
  ],
  compile: [...rows(always(true), 'torch-compile-backend', 'torch-compile-mode'), row('torch-compile', toggle(true))],
  attention: [row('attn-implementation', attentionWord)],
  attentionKernel: [row('attn-implementation', kernelWord)],
  recomputeGranularity: [
    row('disable-gradient-checkpointing', either('none', 'full')),
    row('gradient-checkpointing', either('full', 'none')),
  ],
  zeroStage: [
    row('zero-stage', count(0, 3)),
    row('deepspeed-stage', count(0, 3)),
    row('fsdp', sharding),
    ...rows(fsdpStage, 'fsdp-sharding-strategy', 'fsdp-reshard-after-forward'),
  ],
  hybridShard: [row('fsdp', hybrid), row('fsdp-sharding-strategy', fsdpHybrid)],
  optimizer: [
    ...Object.entries(factorySwitches).map(([name, optimizer]) => row(name.replaceAll('_', '-'), toggle(optimizer))),
    ...rows(trainerOptimizer, 'optim', 'optimizer', 'optimizer-type'),
  ],
  optimizerRank: [...rows(sizes, 'galore-rank', 'apollo-rank'), row('optim-args', rankArgument)],
  offloadOptimizer: [row('offload-optimizer-device', offloaded), row('adam-offload', toggle('cpu'))],
  offloadParameters: [row('offload-param-device', offloaded)],
  loadCheckpoint: [row('resume-from-checkpoint', checkpointPath)],
  ...stateDictKeys('fsdp-state-dict-type'),
  tensor: [row('parallelism-config-tp-size', sizes)],
  // of ms-swift (`SequenceParallel._init_device_mesh`) and open-instruct: that many ranks share each sequence
  context: rows(sizes, 'parallelism-config-cp-size', 'sequence-parallel-size'),
  dataReplicate: [row('parallelism-config-dp-replicate-size', sizes)],
  nodes: [row('nnodes', nodeCount), row('num-machines', sizes), row('num-nodes', sizes)],
  gpusPerNode: [row('nproc-per-node', processCount), row('num-gpus', processCount), row('gpus-per-node', processCount)],
  world: [row('num-processes', sizes)],
};

/** Ranks of adapters, and words that say what is trained. */
const ranks = ['lora-r', 'lora-rank', 'lora-dim'];
const switches = ['use-lora', 'use-peft', 'q-lora', 'use-qlora'];
const kinds = ['finetuning-type', 'train-type', 'tuner-type', 'sft-type'];
const deepspeedKeys = ['deepspeed', 'deepspeed-config', 'deepspeed-config-file'];
/** Of `accelerate launch`. */
const accelerateKey = 'config-file';

const known = new Map<string, FlagRead<unknown>['words']>([
  ...tableReads(table).map(([key, { words }]): [string, FlagRead<unknown>['words']] => [key, words]),
  ...[...adapterSettings].map(([name, words]) => [name.replaceAll('_', '-'), words] as const),
  ...kinds.map((key): [string, 'one'] => [key, 'one']),
  ...[...switches, ...deepspeedKeys, accelerateKey].map((key): [string, 'many'] => [key, 'many']),
]);

/** Flags of `torchrun`, `deepspeed` and Slurm that no plan has. */
const fromLauncher: ReadonlySet<string> = new Set(
  `master-addr master-port node-rank rdzv-id rdzv-backend rdzv-endpoint max-restarts standalone tee hostfile include exclude module log-dir
  machine-rank main-process-ip main-process-port job-name`.split(/\s+/),
);

/** Its launch flags have ZeRO and offloading too. */
const openRlhf: Capabilities = {
  name: 'OpenRLHF',
  source: 'OpenRLHF/OpenRLHF at 3c3be623, openrlhf/cli/train_sft.py 166 to 284 and utils/deepspeed/deepspeed.py 78',
  setBy: setBy(['microBatch', 'recompute', 'zeroStage', 'tensor', 'context'], ['expert', 'offloadOptimizer']),
  refuses: [zero3WithAutoTensor],
  recomputes: wholeLayersOnly,
  silent: { precision: 'bf16', zeroStage: 2, microBatch: 8, globalBatch: 128, sequenceLength: 2048, recomputeGranularity: 'none' },
};

/** Sizes follow from `--model-size`. */
const metaseq: Capabilities = {
  name: 'metaseq',
  source: 'facebookresearch/metaseq at f7ffa5f, metaseq/launcher/opt_job_constants.py',
  setBy: setBy(['tensor', 'microBatch']),
  refuses: [],
  recomputes: wholeLayersOnly,
  silent: {},
};

/** Programs that train by the flags of Hugging Face's Trainer, and metaseq's launcher of OPT. */
export const trainerProgram: ShellProgram = {
  format: 'trainer-shell',
  isIts: isTrainerScript,
  settings: {
    words: (key) => known.get(key),
    abbreviable: [...known.keys()],
    short: new Map([
      ['-n', '--num-nodes'],
      ['-g', '--num-gpus'],
    ]),
  },
  settingFiles: (flags) =>
    [...deepspeedKeys, accelerateKey].flatMap((key) => {
      const [path] = flags.get(key)?.words ?? [];
      return path !== undefined && /^[^/].*\.(?:json|ya?ml)$/i.test(path.text ?? '') ? [path] : [];
    }),
  basesOfFile: accelerateBases,
  read: (flags, layers) => {
    const [optimizer] = layers.filter(isJson).map(optimizerOfDeepSpeed);
    const written = { ...settingsIn(layers), ...factsOfTable(table, flags), ...optimizer };
    const own = ownLayer(layers);
    const processes = callsSwift.test(own.text) ? swiftProcesses(own) : {};
    const exchange = sequenceExchange(own.text, written);
    const facts = withCheckpointing({
      ...processes,
      ...exchange,
      ...written,
      ...zeroStageFromFileName(written, flags),
      ...metaseqFacts(written),
    });
    const adapters = readShellAdapters(flags);
    const settings = settingsOfFlags(flags.values(), (key) => known.has(key) || fromLauncher.has(key));
    return {
      facts,
      modelFiles: modelPath(facts),
      program: detectShellTrainer(facts, flags, layers),
      written: { names: 'trainer', settings },
      ...(adapters && { adapters }),
    };
  },
};

/** What the files set that the launch names; a DeepSpeed JSON that the training program takes goes before one of Accelerate. */
function settingsIn(layers: readonly Layer[]): Facts {
  const ofAccelerate = layers.filter(({ file }) => /\.ya?ml$/i.test(file)).map((layer) => accelerateFacts(layer, layers));
  return Object.assign({}, ...ofAccelerate, ...layers.filter(isJson).map(readShardingFacts)) as Facts;
}

/**
 * How ranks that share a sequence exchange it: open-instruct always by Ulysses (`DeepSpeedSequenceParallelConfig`), ms-swift by Ulysses in
 * groups of as many ranks as divide both the size and the key/value heads, which the name of the model gives, and by a ring of these groups
 * (`SequenceParallel._init_device_mesh` of swift/sequence_parallel/sequence_parallel.py at 07bea95d).
 */
function sequenceExchange(text: string, { context, flavor }: Facts): Facts {
  if (context === undefined || flagKey(context.name ?? '') !== 'sequence-parallel-size') return {};
  if (/\bopen_instruct\b/.test(text))
    return { contextCommunication: byDefault('ulysses', sentence`open-instruct shares sequences by Ulysses`) };
  const config = callsSwift.test(text) && flavor !== undefined ? modelOfHub(flavor.value).config : null;
  const heads = config === null ? undefined : readHuggingFace('', config).facts.kvHeads?.value;
  if (heads === undefined) return {};
  const ulysses = greatestCommonDivisor(heads, context.value);
  const ring = context.value / ulysses;
  const own = counted(heads, 'key/value head');
  if (ring === 1) return { contextCommunication: byDefault('ulysses', sentence`ms-swift uses Ulysses where the size divides the ${own}`) };
  if (ulysses === 1)
    return { contextCommunication: byDefault('p2p', sentence`ms-swift uses a ring: the size and ${own} have no common divisor`) };
  const why = sentence`ms-swift uses Ulysses in groups of ${ulysses}, which divides the ${own}, and a ring of ${ring} groups`;
  return { contextCommunication: byDefault('a2a+p2p', why), contextLevels: byDefault([ulysses, ring], why) };
}

const callsSwift = /\bswift[ \t]+(?:sft|pt|rlhf)\b/;

/** Programs by how a script calls them, or by flags that only they have. The first that applies is the program. */
const programs: readonly (readonly [Capabilities, called: RegExp, flags: readonly string[]])[] = [
  [openRlhf, /\bopenrlhf\b/i, ['micro-train-batch-size']],
  [swift, callsSwift, ['train-type', 'sft-type', 'tuner-type']],
  [llamaFactory, /llama-?_?factory/i, ['finetuning-type']],
  [
    trl,
    /\btrl[ \t]+(?:sft|dpo|reward|kto)\b|\btrl\/(?:scripts|examples)\b/,
    ['use-peft', 'packing', 'completion-only-loss', 'assistant-only-loss'],
  ],
];

/** The program that a script starts, with what shards its states. */
function detectShellTrainer(facts: Facts, flags: ReadonlyMap<string, LocatedFlag>, layers: readonly Layer[]): Program {
  const { text } = ownLayer(layers);
  const has = (...keys: readonly string[]): boolean => keys.some((key) => flags.has(key));
  const isMetaseq = facts.flavor !== undefined && modelOfMetaseq(facts.flavor.value, facts) !== null;
  const [named = trainer] = programs.find(([, called, keys]) => called.test(text) || has(...keys)) ?? [];
  const ofAccelerate = layers.map(detectAccelerateProgram).find((program) => program !== undefined);
  const isFsdp = ofAccelerate?.traits.runtime === 'fsdp1' || has('use-fsdp', 'fsdp-sharding-strategy') || isOn(flags.get('fsdp'));
  const capabilities = isMetaseq ? metaseq : named;
  const runtime = isFsdp ? 'fsdp1' : isReplicated(capabilities, facts, flags, ofAccelerate) ? 'ddp' : 'deepspeed';
  const isPure = flagFact(flags.get('pure-bf16'), toggle(true))?.value === true || (capabilities === trainer && loadsHalf(flags));
  return buildTrainerProgram(capabilities, runtime, facts, isPure);
}

/**
 * Whether a script of Transformers loads weights in 16 bits, which its Trainer leaves so: the examples hand `--torch_dtype` to
 * `from_pretrained`, and not to `from_config` (examples/pytorch/language-modeling/run_clm.py of 4.53).
 */
function loadsHalf(flags: ReadonlyMap<string, LocatedFlag>): boolean {
  const dtype = dtypeKeys.map((key) => flagFact(flags.get(key), choice(torchDtypes))?.value).find((value) => value !== undefined);
  return flags.has('model-name-or-path') && (dtype === 'bf16' || dtype === 'fp16');
}

/** Whether nothing that the launch names shards states: no DeepSpeed, and no file of Accelerate that is not here to say so. */
function isReplicated(
  capabilities: Capabilities,
  { zeroStage }: Facts,
  flags: ReadonlyMap<string, LocatedFlag>,
  ofAccelerate: Program | undefined,
): boolean {
  if (capabilities === metaseq || capabilities === openRlhf || deepspeedKeys.some((key) => flags.has(key))) return false;
  if (ofAccelerate !== undefined) return ofAccelerate.traits.runtime === 'ddp';
  return !flags.has(accelerateKey) && zeroStage === undefined;
}

function isOn(flag: LocatedFlag | undefined): boolean {
  return flag !== undefined && flagFact(flag, sharding) !== undefined;
}

/** A folder of the model or its name; a size of metaseq is neither. */
function modelPath({ flavor }: Facts): LauncherFile['modelFiles'] {
  return flavor === undefined || flagKey(flavor.name ?? '') === 'model-size' ? [] : [flavor];
}

/** What the name of DeepSpeed's file sets: `ds_zero3.json`, `stage2.conf`, `zero3`. */
function zeroStageFromFileName({ zeroStage }: Facts, flags: ReadonlyMap<string, LocatedFlag>): Facts {
  if (zeroStage !== undefined) return {};
  const name = deepspeedKeys.map((key) => flags.get(key)?.words[0]?.text ?? undefined).find((text) => text !== undefined);
  const stage = /(?:zero|stage|_z)[_-]?([0-3])(?!\d)/i.exec(name?.split('/').at(-1) ?? '')?.[1];
  if (name === undefined || stage === undefined) return {};
  return { zeroStage: byDefault(Number(stage), sentence`from the name of ${quoted(name)}`) };
}

/** LoRA and its kind, by any of the flags that turn them on. */
function readShellAdapters(flags: ReadonlyMap<string, LocatedFlag>): GivenAdapters | undefined {
  const isOn = (key: string): boolean => flagFact(flags.get(key), toggle(true))?.value === true;
  const isRank = (key: string): boolean => (flagFact(flags.get(key), count(0))?.value ?? 0) > 0;
  const isKind = (key: string): boolean => !/^(full|freeze|none|)$/i.test(flagFact(flags.get(key), word)?.value ?? '');
  const isOff = switches.some((key) => flags.has(key) && !isOn(key)) || kinds.some((key) => flags.has(key) && !isKind(key));
  const given = switches.find(isOn) ?? kinds.find(isKind) ?? (isOff ? undefined : ranks.find(isRank));
  const flag = given === undefined ? undefined : flags.get(given);
  if (flag === undefined) return undefined;
  const kind = kinds.map((key) => flagFact(flags.get(key), word)).find((fact) => fact !== undefined);
  return { place: flag.place, name: flag.name, ...kindFlags(kind, flags), ...defaultsBy(flags) };
}

/** What the program behind the flags takes where they leave it open, known by flags that only it has. */
function defaultsBy(flags: ReadonlyMap<string, LocatedFlag>): { readonly defaults?: AdapterDefaults } {
  const has = (...keys: readonly string[]): boolean => keys.some((key) => flags.has(key));
  if (has('finetuning-type')) return { defaults: libraryDefaults.llamaFactory };
  if (has('train-type', 'sft-type', 'tuner-type'))
    return { defaults: { rank: 8, targets: [allLinear], dropout: 0.05, reason: sentence`ms-swift's default` } };
  if (has('use-peft')) return { defaults: libraryDefaults.trl };
  if (has('lora-rank') && has('pretrain')) return { defaults: { rank: 8, targets: [allLinear], reason: sentence`OpenRLHF's default` } };
  return {};
}
