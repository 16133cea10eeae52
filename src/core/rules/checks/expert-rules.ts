import type { ConfigView } from '../view';
import type { Facts } from '../../formats/facts';
import type { ConfigFormat } from '../../formats/config-format';
import { formatNumber } from '../../format';
import { divisorsOf } from '../../numbers';
import { countOf, product, sizeOf, worldOf } from '../derived';
import { megatronFormats, runFormats, withTorchtitan } from '../launchers/formats';
import { largerWorld } from './layout-rules';
import { isWritten, listed, many, nearestFitting, setTo, type Issue, type Rule } from '../rule';

/** Mixtures of experts and how they are divided. */
export const expertRules: readonly Rule[] = [
  {
    code: 'expert-world-factor',
    severity: 'error',
    formats: megatronFormats,
    check: expertWorldFactor,
    doc: 'Megatron: "world_size is not divisible by expert_tensor_model_pipeline_parallel size". The experts lie on expert tensor x expert x pipeline GPUs; the expert tensor size is the tensor size unless it is given.',
  },
  {
    code: 'experts-not-divisible',
    planCode: 'experts-expert',
    severity: 'error',
    formats: [...withTorchtitan, ...runFormats],
    check: expertsOverRanks,
    doc: 'Megatron: "Number of experts should be a multiple of expert model parallel_size." Every rank of an expert-parallel group holds the same number of experts.',
  },
  {
    code: 'experts-active',
    severity: 'error',
    formats: [...withTorchtitan, ...runFormats],
    check: activeExperts,
    doc: 'A token cannot visit more experts than a layer has.',
  },
];

/** GPUs over which one copy of the experts lies: expert tensor (by default the tensor size) x expert x pipeline. */
function expertGpusOf(facts: Facts, format: ConfigFormat, expert: number | null, expertTensor: number | null): number | null {
  return product(expertTensor, expert, sizeOf(facts, format, 'pipeline'));
}

function expertWorldFactor({ facts, format }: ConfigView): Issue | null {
  const world = worldOf(facts);
  const expert = sizeOf(facts, format, 'expert');
  const expertTensor = facts.expertTensor === undefined ? sizeOf(facts, format, 'tensor') : countOf(facts, 'expertTensor');
  const gpus = expertGpusOf(facts, format, expert, expertTensor);
  if (world === null || expert === null || expertTensor === null || gpus === null || world % gpus === 0) return null;
  if (expert === 1 && !isWritten(facts, 'expertTensor')) return null;
  const experts = countOf(facts, 'experts') ?? 0;
  const fits = (size: number, tensor: number): boolean => world % (expertGpusOf(facts, format, size, tensor) ?? world + 1) === 0;
  const smaller = divisorsOf(expert).filter((size) => size < expert && experts % size === 0 && fits(size, expertTensor)).slice(-1); // prettier-ignore
  const single = expertTensor > 1 && fits(expert, 1) && isWritten(facts, 'expertTensor');
  const larger = largerWorld(facts, gpus);
  const remedies = [...(single ? ['set the expert tensor size to 1'] : []), ...(smaller.length > 0 ? [`use an expert size of ${listed(smaller)}`] : []), larger.remedy]; // prettier-ignore
  return {
    at: ['expert', 'expertTensor', 'nodes', 'world', 'pipeline'],
    message: `${many(world, 'GPU')} cannot be divided by expert tensor ${formatNumber(expertTensor)} x expert ${formatNumber(expert)} x pipeline ${formatNumber(gpus / expert / expertTensor)} = ${formatNumber(gpus)}`,
    remedy: remedies.join(', or '),
    changes: [...(single ? setTo('expertTensor', [1]) : []), ...larger.changes, ...setTo('expert', smaller)],
  };
}

function expertsOverRanks({ facts, format }: ConfigView): Issue | null {
  const experts = countOf(facts, 'experts');
  const size = sizeOf(facts, format, 'expert');
  if (experts === null || size === null || experts % size === 0) return null;
  const near = nearestFitting(divisorsOf(experts), size, (value) => worldFitsExperts(facts, format, value));
  return {
    at: ['expert', 'experts'],
    message: `${many(experts, 'expert')} cannot be dealt evenly to an expert size of ${formatNumber(size)}`,
    remedy: `use an expert size of ${listed(near)}`,
    changes: setTo('expert', near),
  };
}

function worldFitsExperts(facts: Facts, format: ConfigFormat, expert: number): boolean {
  const world = worldOf(facts);
  const gpus = product(expert, facts.expertTensor === undefined ? 1 : countOf(facts, 'expertTensor'), sizeOf(facts, format, 'pipeline'));
  return world === null || gpus === null || world % gpus === 0;
}

function activeExperts({ facts }: ConfigView): Issue | null {
  const experts = countOf(facts, 'experts');
  const active = countOf(facts, 'activeExperts');
  if (experts === null || active === null || active <= experts) return null;
  return {
    at: ['activeExperts', 'experts'],
    message: `A token cannot visit ${many(active, 'expert')}: there are ${formatNumber(experts)}`,
    remedy: `send a token to ${many(experts, 'expert')} or fewer`,
    changes: setTo('activeExperts', [experts]),
  };
}
