import type { ConfigView, SettingName } from '../view';
import type { Facts } from '../../run/facts';
import type { ConfigFormat } from '../../run/config-format';
import { formatNumber } from '../../format';
import { listDivisors } from '../../numbers';
import { namedSchedules } from '../../domain/schedule-names';
import { scheduleKind } from '../../schedules/registry';
import { countOf, product, worldSize } from '../../launchers/counts';
import { parallelSize, virtualStagesPerGpu } from '../../launchers/layout-sizes';
import { oldestCoreWith } from '../../launchers/megatron/core-version';
import { isLauncher } from '../../launchers/registry';
import { megatronAndRuns, megatronLmFormats, runFormats, withTorchtitan } from '../formats';
import { largerWorld } from './sizes';
import { isWritten, listed, many, nearestFitting, setTo, type Issue, type Rule } from '../rule';
import { either, sentence, type Sentence } from '../../sentence';

/** Mixtures of experts and how they are divided. */
export const expertRules: readonly Rule[] = [
  {
    code: 'expert-world-factor',
    severity: 'error',
    formats: megatronAndRuns,
    check: expertWorldFactor,
  },
  {
    code: 'experts-not-divisible',
    severity: 'error',
    formats: [...withTorchtitan, ...runFormats],
    check: expertsOverRanks,
  },
  {
    code: 'experts-active',
    severity: 'error',
    formats: [...withTorchtitan, ...runFormats],
    check: activeExperts,
  },
  {
    code: 'expert-dense-model',
    severity: 'warning',
    formats: runFormats,
    check: expertsOfDense,
  },
  {
    code: 'expert-overlap',
    severity: 'error',
    planSeverity: 'warning',
    formats: megatronAndRuns,
    check: refusedOverlap,
  },
  {
    code: 'expert-bias',
    severity: 'error',
    formats: [...megatronLmFormats, ...runFormats],
    check: dividedBiases,
  },
];

/**
 * Each copy of the experts lies on expert tensor x expert x pipeline GPUs. An expert tensor size that is left out is the tensor size in a
 * launcher's file, and in a plan 1 if the expert size is above 1.
 *
 * @finding expert-world-factor
 * Megatron: "world_size is not divisible by expert_tensor_model_pipeline_parallel size". The experts lie on expert tensor x expert x
 * pipeline GPUs; the expert tensor size is the tensor size unless it is given. Expert-parallel groups are made of the GPUs that hold
 * replicas of the other weights: without a number of GPUs, data, context and tensor sizes say how many there are in a stage.
 * @source Megatron-LM, `megatron/core/parallel_state.py`, line 881
 * @ignore the number of nodes in the file is not the one that you start.
 */
function expertWorldFactor(view: ConfigView): Issue | null {
  const { facts, format } = view;
  const { gpus, stages, isOneStage } = gpusOfExperts(view);
  const expert = parallelSize(facts, format, 'expert');
  const expertTensor = expertTensorSize(view);
  const copy = product(expertTensor, expert, stages);
  if (gpus === null || expert === null || expertTensor === null || copy === null || gpus % copy === 0) return null;
  if (expert === 1 && !isWritten(facts, 'expertTensor')) return null;
  const experts = countOf(facts, 'experts') ?? 0;
  const fits = (size: number, tensor: number): boolean => gpus % (product(tensor, size, stages) ?? gpus + 1) === 0;
  const smaller = listDivisors(expert).filter((size) => size < expert && experts % size === 0 && fits(size, expertTensor)).slice(-1); // prettier-ignore
  const single = expertTensor > 1 && fits(expert, 1) && isWritten(facts, 'expertTensor');
  // where all sizes are given, more GPUs would need other sizes too
  const larger = isOneStage
    ? { remedy: sentence`use sizes whose product divides ${many(gpus, 'GPU')}`, changes: [] }
    : largerWorld(facts, copy);
  const remedies = [...(single ? [sentence`set the expert tensor size to 1`] : []), ...(smaller.length > 0 ? [sentence`use an expert size of ${listed(smaller)}`] : []), larger.remedy]; // prettier-ignore
  return {
    at: ['expert', 'expertTensor', 'nodes', 'world', 'pipeline'],
    message: isOneStage ? replicasText(view, gpus, expert, expertTensor) : gpusText(gpus, expert, expertTensor, stages),
    remedy: either(remedies),
    changes: [...(single ? setTo('expertTensor', [1]) : []), ...larger.changes, ...setTo('expert', smaller)],
  };
}

/**
 * @finding experts-not-divisible
 * Megatron: "Number of experts should be a multiple of expert model parallel_size." Every rank of an expert-parallel group holds the same
 * number of experts.
 * @source Megatron-LM, `megatron/training/arguments.py`, line 1658; TorchTitan, `torchtitan/models/common/decoder.py`, line 207
 */
function expertsOverRanks({ facts, format }: ConfigView): Issue | null {
  const experts = countOf(facts, 'experts');
  const size = parallelSize(facts, format, 'expert');
  if (experts === null || size === null || experts % size === 0) return null;
  const near = nearestFitting(listDivisors(experts), size, (value) => worldFitsExperts(facts, format, value));
  return {
    at: ['expert', 'experts'],
    message: sentence`${many(experts, 'expert')} are not divisible by an expert size of ${formatNumber(size)}`,
    remedy: sentence`use an expert size of ${listed(near)}`,
    changes: setTo('expert', near),
  };
}

function gpusText(gpus: number, expert: number, expertTensor: number, stages: number | null): Sentence {
  const factors = [sentence`expert tensor ${formatNumber(expertTensor)}`, sentence`expert ${formatNumber(expert)}`, ...(stages === null ? [] : [sentence`pipeline ${formatNumber(stages)}`])]; // prettier-ignore
  const copy = expertTensor * expert * (stages ?? 1);
  return sentence`${many(gpus, 'GPU')}${stages === null ? sentence` of a stage` : ''} are not divisible by ${factors.reduce((a, b) => sentence`${a} x ${b}`)} = ${formatNumber(copy)}`;
}

/** The GPUs of a stage as replicas of the experts, where they are. */
function replicasText({ facts }: ConfigView, gpus: number, expert: number, expertTensor: number): Sentence {
  if (gpus % expertTensor !== 0) return gpusText(gpus, expert, expertTensor, null);
  const factors = sentence`data x context${facts.expertTensor === undefined ? '' : sentence` x tensor / expertTensor`}`;
  return sentence`An expert size of ${formatNumber(expert)} does not divide the ${many(gpus / expertTensor, 'replica')} (${factors}) that share the experts`;
}

/** GPUs that hold the experts: those of one stage, where the sizes that are given or planned say how many; else all there are. */
function gpusOfExperts(view: ConfigView): { readonly gpus: number | null; readonly stages: number | null; readonly isOneStage: boolean } {
  const { facts, format, planned } = view;
  const data = facts.data === undefined ? (planned?.data ?? null) : countOf(facts, 'data');
  const ofStage = isLauncher(format) ? null : product(data, parallelSize(facts, format, 'context'), knownTensorSize(view));
  if (ofStage !== null) return { gpus: ofStage, stages: 1, isOneStage: true };
  return { gpus: worldSize(facts), stages: parallelSize(facts, format, 'pipeline'), isOneStage: false };
}

/** The tensor size: as given, as the launcher takes it, or as planned; any will do where experts are divided like the rest. */
function knownTensorSize({ facts, format, planned }: ConfigView): number | null {
  const tensor = parallelSize(facts, format, 'tensor') ?? planned?.tensor ?? null;
  return tensor === null && !isLauncher(format) && facts.tensor === undefined && facts.expertTensor === undefined ? 1 : tensor;
}

function worldFitsExperts(facts: Facts, format: ConfigFormat, expert: number): boolean {
  const world = worldSize(facts);
  const gpus = product(
    expert,
    facts.expertTensor === undefined ? 1 : countOf(facts, 'expertTensor'),
    parallelSize(facts, format, 'pipeline'),
  );
  return world === null || gpus === null || world % gpus === 0;
}

/**
 * @finding experts-active
 * A token cannot visit more experts than a layer has. A mixture of experts needs two numbers: how many experts a layer has, and how many of
 * them each token visits. With one of them missing the model is planned as a dense one.
 * @source Megatron-LM, `megatron/core/transformer/moe/moe_utils.py`, lines 726 and 879: `torch.topk` refuses more than there are, "selected
 * index k out of range".
 * @ignore experts are given somewhere else than in this file.
 */
function activeExperts({ facts, format }: ConfigView): Issue | null {
  const experts = countOf(facts, 'experts');
  const active = countOf(facts, 'activeExperts');
  // launchers have a default for the one or the other
  if (!isLauncher(format) && (experts === null) !== (active === null)) return halfGiven(experts === null);
  if (experts === null || active === null || active <= experts) return null;
  return {
    at: ['activeExperts', 'experts'],
    message: sentence`A token cannot visit ${many(active, 'expert')}: there are ${formatNumber(experts)}`,
    remedy: sentence`send a token to ${many(experts, 'expert')} or fewer`,
    changes: setTo('activeExperts', [experts]),
  };
}

function halfGiven(isWithoutExperts: boolean): Issue {
  const [given, missing] = isWithoutExperts ? (['activeExperts', 'experts'] as const) : (['experts', 'activeExperts'] as const);
  return {
    at: [given],
    message: sentence`model.${given} is given without model.${missing}: planned as a dense model`,
    remedy: sentence`give model.${missing} too, or remove model.${given}`,
  };
}

/**
 * @finding expert-dense-model
 * An expert-parallel size has an effect only on models with experts, and this one is dense.
 * @source Megatron-LM, `megatron/training/arguments.py`, line 1656
 * @ignore the experts are given somewhere else than in this file.
 */
function expertsOfDense({ facts, format }: ConfigView): Issue | null {
  const expert = parallelSize(facts, format, 'expert');
  if (expert === null || expert === 1 || facts.experts !== undefined || facts.activeExperts !== undefined) return null;
  return {
    at: ['expert'],
    message: sentence`An expert size of ${formatNumber(expert)} has no effect: the model is dense`,
    remedy: sentence`use an expert size of 1`,
    changes: setTo('expert', [1]),
  };
}

/**
 * @finding expert-overlap
 * Megatron hides the exchange of experts behind another micro-batch, in another chunk of the stage: "If enabling EP A2A overlap,
 * virtual_pipeline_model_parallel_size must be specified when pipeline_model_parallel_size > 1". It also wants an expert size above 1, and
 * neither full recompute nor that of whole expert layers.
 * @source Megatron-LM, `megatron/core/transformer/transformer_config.py`, lines 3002 to 3032; MindSpeed's `--moe-fb-overlap` at 028de58c,
 * `mindspeed/features_manager/moe/fb_overlap.py`, lines 91 and 101
 * @ignore the schedule gives each stage two chunks, as DualPipeV does.
 */
function refusedOverlap({ facts, format }: ConfigView): Issue | null {
  const name = (['overlapExpertComm', 'passOverlap'] as const).find((each) => facts[each]?.value === true);
  if (name === undefined || hasOwnChunks(facts)) return null;
  const stages = parallelSize(facts, format, 'pipeline') ?? 1;
  const refused = (at: SettingName, why: Sentence, remedy: Sentence): Issue => ({
    at: [name, at],
    message: sentence`The exchange of experts is overlapped, and ${why}`,
    remedy: sentence`${remedy}, or do not overlap it`,
    changes: setTo(name, [false]),
  });
  // a plan chooses virtual stages where no file gives them
  const isOpen = !isLauncher(format) && facts.virtualStages === undefined;
  if (stages > 1 && !isOpen && virtualStagesPerGpu(facts, format) === 1)
    return refused('pipeline', sentence`${many(stages, 'pipeline stage')} have no virtual stages`, sentence`give them virtual stages`);
  if (parallelSize(facts, format, 'expert') === 1)
    return refused('expert', sentence`the expert size is 1`, sentence`use a larger expert size`);
  if (name === 'passOverlap') return null;
  if (facts.recomputeGranularity?.value.trim().toLowerCase() === 'full')
    return refused('recomputeGranularity', sentence`layers are recomputed whole`, sentence`recompute modules`);
  if (facts.recomputeModules?.value.includes('moe') === true)
    return refused('recomputeModules', sentence`expert layers are recomputed whole`, sentence`recompute moe_act`);
  return null;
}

/** Whether the schedule gives each stage two chunks or more; of one with another name nothing is known. */
function hasOwnChunks({ schedule }: Facts): boolean {
  if (schedule === undefined) return false;
  const name = namedSchedules.find((each) => each === schedule.value);
  return name === undefined || scheduleKind(name).chunksPerStage !== 1;
}

/**
 * @finding expert-bias
 * Megatron: "Bias in Moe is only supported when ETP==1". Linear layers have biases unless they are disabled, and those of experts are not
 * divided over tensor-parallel GPUs: give the experts an expert tensor size of 1, or leave the biases out. The expert tensor size is the
 * tensor size unless it is given; in a plan it is 1 if the expert size is above 1.
 * @source Megatron-LM, `megatron/core/transformer/transformer_config.py`, line 2612; in core 0.13 and 0.14, "Bias is not supported for MoE"
 * @ignore the run is of core 0.12 or older, which divides the biases: a file is an error only where it has a setting of a later one.
 */
function dividedBiases(view: ConfigView): Issue | null {
  const { facts, format, assumesRuntime } = view;
  const experts = countOf(facts, 'experts') ?? 1;
  if (experts === 1 || facts.bias?.value !== true || (facts.runtime?.value ?? 'megatron') !== 'megatron') return null;
  const size = expertTensorSize(view);
  if (size === null || size === 1) return null;
  // nothing but its flags shows the version of a script; 0.11 and 0.12 have an expert tensor size, and do not check it
  const isSure = isLauncher(format) ? isSinceCore13(facts) : !assumesRuntime;
  return {
    severity: isSure ? 'error' : 'warning',
    at: ['expertTensor', 'tensor', 'bias', 'experts'],
    message: sentence`Experts with biases are divided over an expert tensor size of ${formatNumber(size)}`,
    remedy: sentence`use an expert tensor size of 1, or disable the biases`,
    changes: [...setTo('expertTensor', [1]), ...setTo('bias', [false])],
  };
}

/** Whether a file has a setting that no core before 0.13 takes. FlagScale has layouts of its own. */
function isSinceCore13(facts: Facts): boolean {
  const flags = Object.values(facts).flatMap(({ name }) => (name?.startsWith('--') === true ? [name] : []));
  const isLaidOut = isWritten(facts, 'pipelineLayout') && facts.pipelineLayout?.name?.includes('hetero') !== true;
  return isLaidOut || isWritten(facts, 'overlapExpertComm') || oldestCoreWith(flags) >= 13;
}

/** Over how many GPUs each expert is divided; null: unknown. */
function expertTensorSize(view: ConfigView): number | null {
  const { facts, format } = view;
  if (facts.expertTensor !== undefined) return countOf(facts, 'expertTensor');
  const expert = parallelSize(facts, format, 'expert');
  return !isLauncher(format) && expert !== null && expert > 1 ? 1 : knownTensorSize(view);
}
