import { allLinear, type GivenAdapters } from '../../run/adapters';
import { byDefault } from '../../domain/located';
import { choice, count, on, share, type FlagRead } from '../../languages/reads';
import type { Facts, LauncherFile } from '../../run/facts';
import type { Finding } from '../../findings';
import { sentence } from '../../sentence';
import { kindSettings, loraFlags, adapterSettings } from '../tables/adapters';
import { policyOnly } from '../tables/launcher-file';
import { flagFact, placeOfValue, type LocatedFlag } from '../tables/located-flag';
import { knownWord, pathWord, torchDtypes, word } from '../tables/reads';
import { factsOfTable, lenient, row, tableReads, type FlagTable } from '../tables/table';
import { flagWords, megatronFacts } from '../megatron/megatron-flags';

type Flags = ReadonlyMap<string, LocatedFlag>;

/** Arguments of its own, and those of Megatron-LM by another name. */
const own: FlagTable = {
  flavor: [row('model', pathWord)],
  sequenceLength: [row('max-length', count(1))],
  precision: [row('torch-dtype', knownWord({ ...torchDtypes, bf16: 'bf16' }))],
  fusedCrossEntropy: [row('cross-entropy-loss-fusion', on(true))],
  optimizer: [row('optimizer', word)],
  recomputeGranularity: [row('recompute-granularity', lenient(choice({ none: 'none', full: 'full', selective: 'selective' })))],
  mtpLayers: [row('mtp-num-layers', count(1))],
};

const tunerKeys = ['tuner-type', 'train-type', 'sft-type'];
const rolloutKey = 'rlhf-type';
const memoryKey = 'vllm-gpu-memory-utilization';
const reads = new Map(tableReads(own).map(([key, { words }]) => [key, words]));
const adapterWords = new Map([...adapterSettings].map(([name, words]) => [name.replaceAll('_', '-'), words]));

/** Words of an argument; every switch takes its truth: `--sequence_parallel true`. */
export function swiftWords(key: string): FlagRead<unknown>['words'] | undefined {
  if (tunerKeys.includes(key) || key === rolloutKey || key === memoryKey) return 'one';
  const words = reads.get(key) ?? adapterWords.get(key) ?? flagWords(key);
  return words === 'none' ? 'many' : words;
}

/** What the arguments set, with what ms-swift takes without them (`MegatronArguments`); layers are those of the model's config.json. */
export function swiftFacts(flags: Flags): Facts {
  const reason = sentence`ms-swift's default for Megatron Core`;
  return {
    precision: byDefault('bf16', sentence`weights are in the type of the checkpoint, bf16`),
    microBatch: byDefault(1, reason),
    globalBatch: byDefault(16, reason),
    distributedOptimizer: byDefault(true, reason),
    expertTensor: byDefault(1, reason),
    fusedCrossEntropy: byDefault(true, reason),
    recomputeGranularity: byDefault('selective', reason),
    attention: byDefault('flash', reason),
    attentionKernel: byDefault('flash2', reason),
    ...megatronFacts(flags),
    ...factsOfTable(own, flags),
  };
}

/** LoRA by its kind of tuner; on all linear layers with a rank of 8 unless set otherwise. */
export function swiftAdapters(flags: Flags): Pick<LauncherFile, 'adapters'> {
  const flag = tunerKeys.map((key) => flags.get(key)).find((found) => found !== undefined);
  const kind = flagFact(flag, word);
  if (flag === undefined || kind === undefined || /^(full|none)$/i.test(kind.value)) return {};
  const adapters: GivenAdapters = {
    place: placeOfValue(flag),
    name: flag.name,
    ...kindSettings(kind),
    ...loraFlags(flags),
    defaults: { rank: 8, targets: [allLinear], dropout: 0.05, reason: sentence`ms-swift's default` },
  };
  return { adapters };
}

/** A run of reinforcement learning or distillation has a rollout; of DPO and its kin, a reference. */
export function swiftNotes(flags: Flags): readonly Finding[] {
  const flag = flags.get(rolloutKey);
  const kind = flagFact(flag, word)?.value.toLowerCase();
  if (flag === undefined || kind === undefined) return [];
  const memoryShare = flagFact(flags.get(memoryKey), share)?.value;
  const place = placeOfValue(flag);
  return [
    policyOnly(place, /^(grpo|gkd|ppo)$/.test(kind) ? [{ name: 'rollout', memoryShare }, { name: 'reference' }] : [{ name: 'reference' }]),
  ];
}
