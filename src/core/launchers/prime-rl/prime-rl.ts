import * as v from 'valibot';
import { byDefault, type Located } from '../../domain/located';
import { boolean, integer, type Rule } from '../../domain/settings/rules';
import type { GivenAdapters } from '../../run/adapters';
import type { Facts, LauncherFile } from '../../run/facts';
import { sentence } from '../../sentence';
import { policyOnly, type OtherModel } from '../tables/launcher-file';
import { factsOfSettings, row, rows, type ValueTable } from '../tables/table';
import { firstPlace, value, whenOn, type Settings } from '../tables/values';
import { parseToml } from '../torchtitan/toml';

const word: Rule<string> = { schema: v.pipe(v.string(), v.maxLength(4096)), type: 'string', expects: sentence`a name in quotes` };
const sizeOrAuto: Rule<string | number> = {
  schema: v.union([v.string(), v.pipe(v.number(), v.integer(), v.minValue(1))]),
  type: 'string',
  expects: sentence`a whole number, or "auto"`,
};
const size = value(integer(1, 1_000_000_000));

/** Of reinforcement learning the model is the trainer's; of fine-tuning it is at the root. */
const ofModel = (key: string): readonly string[] => [`trainer.model.${key}`, `model.${key}`];

/** Fields of `RLConfig`, `SFTConfig` and `TrainerConfig`. */
const keys: ValueTable = {
  flavor: rows(value(word), ...ofModel('name')),
  sequenceLength: rows(size, 'trainer.model.seq_len', 'data.seq_len', 'seq_len', 'orchestrator.seq_len', 'model.seq_len'),
  microBatch: [row('data.micro_batch_size', size)],
  globalBatch: rows(size, 'data.batch_size', 'orchestrator.batch_size', 'batch_size'),
  context: rows(size, ...ofModel('cp')),
  expert: rows(
    value(sizeOrAuto, (written) => (typeof written === 'number' ? written : null)),
    ...ofModel('ep'),
  ),
  dataReplicate: rows(size, ...ofModel('dp_replicate')),
  nodes: [row('deployment.num_train_nodes', size)],
  gpusPerNode: rows(size, 'deployment.num_train_gpus', 'deployment.gpus_per_node'),
  offloadParameters: rows(value(boolean, whenOn('cpu')), ...ofModel('fsdp_cpu_offload')),
  optimizer: rows(value(word), 'trainer.optim.type', 'optim.type'),
};

/**
 * A TOML of prime-rl: `[trainer]`, `[orchestrator]` and `[inference]`, or an SFT run of `[model]` and `[data]`. Micro-batches are packed to
 * `seq_len` tokens. The plan is the trainer's step, on the GPUs that train.
 * @throws ExpectedError for text that is not TOML 1.0, placed; see `parseToml`.
 */
export function readPrimeRl(file: string, text: string): LauncherFile {
  const settings = parseToml(file, text);
  const { facts: written, remarks } = factsOfSettings(keys, settings);
  const isPolicy = [...settings.keys()].some((name) => name.startsWith('orchestrator.'));
  const facts: Facts = { ...defaults(settings, written, isPolicy), ...written };
  const place = firstPlace(file, facts);
  const adapters = readAdapters(settings);
  return {
    file,
    format: 'prime-rl',
    text,
    place,
    facts,
    remarks: isPolicy ? [...remarks, policyOnly(place, [rollout(settings)])] : remarks,
    modelFiles: facts.flavor === undefined ? [] : [facts.flavor],
    placeholders: [],
    ...(adapters && { adapters }),
  };
}

function defaults(settings: Settings, { nodes, context }: Facts, isPolicy: boolean): Facts {
  const reason = sentence`prime-rl's default`;
  const keeps = ofModel('optim_cpu_offload').some((name) => settings.get(name)?.value === false);
  const isRing = !ofModel('cp_style').some((name) => settings.get(name)?.value === 'ulysses');
  return {
    sequenceLength: byDefault(isPolicy ? 2048 : 128, reason),
    ...(!isPolicy && { globalBatch: byDefault(128, reason) }),
    ...(nodes === undefined ? { nodes: byDefault(1, reason), gpusPerNode: byDefault(1, reason) } : { gpusPerNode: byDefault(8, reason) }),
    fusedCrossEntropy: byDefault(isPolicy, sentence`prime-rl's fused head is off in fine-tuning`),
    ...(!keeps && { offloadOptimizer: byDefault('cpu', sentence`optim_cpu_offload is on unless it is turned off`) }),
    ...(context && !isRing && { contextCommunication: byDefault('ulysses', sentence`cp_style is "ulysses"`) }),
  };
}

/** GPUs that generate, as its deployment gives them. */
function rollout(settings: Settings): OtherModel {
  const number = (name: string): number | undefined => {
    const given = settings.get(name)?.value;
    return typeof given === 'number' && given > 0 ? given : undefined;
  };
  const nodes = number('deployment.num_infer_nodes');
  const gpus = number('deployment.num_infer_gpus') ?? (nodes === undefined ? undefined : nodes * (number('deployment.gpus_per_node') ?? 8));
  const memoryShare = number('inference.vllm.gpu_memory_utilization');
  return { name: 'rollout', gpus, memoryShare: memoryShare !== undefined && memoryShare <= 1 ? memoryShare : undefined };
}

/** All linear layers of attention and the feed-forward network unless others are named (`LoRAConfig`). */
const usualTargets = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'];

function readAdapters(settings: Settings): GivenAdapters | undefined {
  const [name = ''] = ofModel('lora').filter((each) => [...settings.keys()].some((key) => key.startsWith(`${each}.`)));
  const first = [...settings.values()].find((setting) => name !== '' && setting.name.startsWith(`${name}.`));
  if (first === undefined) return undefined;
  const rank = settings.get(`${name}.rank`);
  const targets = settings.get(`${name}.target_modules`);
  const located = <T>(given: T, from: typeof first): Located<T> => ({
    value: given,
    source: { kind: 'file', place: from.place, key: from.name },
  });
  const isRank = typeof rank?.value === 'number' && Number.isInteger(rank.value) && rank.value > 0 && rank.value < 1_000_000;
  const named = Array.isArray(targets?.value) ? targets.value.filter((each): each is string => typeof each === 'string') : [];
  return {
    place: first.place,
    name,
    ...(rank && isRank && { rank: located(rank.value, rank) }),
    ...(targets && named.length > 0 && { targets: located(named, targets) }),
    defaults: { rank: 16, targets: usualTargets, reason: sentence`prime-rl's default` },
  };
}
