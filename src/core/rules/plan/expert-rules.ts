import type { Run } from '../../formats/run';
import type { Finding } from '../../findings';
import { formatCount, plural } from '../../format';
import { orList } from '../../text';
import type { Plan } from '../../planner/plan';
import { divisorsOf, nearest } from '../../numbers';
import { findingAt, setFixes } from '../settings';
import type { PlanRule } from './plan-rule';

/** A mixture of experts, and how it is divided. */
export const expertPlanRules: readonly PlanRule[] = [
  {
    code: 'expert-dense-model',
    check: denseFindings,
    doc: 'An expert-parallel size has an effect only on models with experts, and this one is dense.',
  },
  {
    code: 'experts-active',
    check: halfGiven,
    doc: 'A mixture of experts needs two numbers: how many experts a layer has, and how many of them each token visits. With one of them missing the model is planned as a dense one.',
  },
  {
    code: 'expert-replicas',
    check: replicaFindings,
    doc: 'Expert-parallel groups are made of the GPUs that hold replicas of the other weights: data-parallel and context-parallel ones. Their number must be a multiple of the expert-parallel size.',
  },
];

function denseFindings(run: Run): Finding[] {
  const { experts, activeExperts } = run.model;
  const expert = run.layout.expert?.value ?? 1;
  if (expert === 1 || experts.value !== null || activeExperts.value !== null) return [];
  return [
    findingAt(
      run,
      'layout.expert',
      'expert-dense-model',
      'warning',
      { message: `An expert size of ${formatCount(expert)} does nothing: the model is dense`, remedy: 'set layout.expert to 1' },
      setFixes(run, 'layout.expert', [1]),
    ),
  ];
}

function halfGiven(run: Run): Finding[] {
  const { experts, activeExperts } = run.model;
  const withoutExperts = experts.value === null;
  if (withoutExperts === (activeExperts.value === null)) return [];
  const [given, missing] = withoutExperts ? ['model.activeExperts', 'model.experts'] : ['model.experts', 'model.activeExperts'];
  return [
    findingAt(run, given, 'experts-active', 'error', {
      message: `There is ${given} without ${missing}: planned as a dense model`,
      remedy: `give ${missing} too, or remove ${given}`,
    }),
  ];
}

/** The plan gives the replicas where no file does. */
function replicaFindings(run: Run, plan: Plan | null): Finding[] {
  const experts = run.model.experts.value;
  const active = run.model.activeExperts.value;
  if (experts === null || active === null || active > experts) return [];
  const expert = run.layout.expert?.value ?? 1;
  const data = run.layout.data?.value ?? plan?.request.layout.data;
  const tensor = run.layout.tensor?.value ?? plan?.request.layout.tensor ?? 1;
  const expertTensor = run.layout.expertTensor?.value ?? tensor;
  const replicas = ((data ?? expert) * (run.layout.context?.value ?? 1) * tensor) / expertTensor;
  if (replicas % expert === 0) return [];
  const near = nearest(
    divisorsOf(replicas).filter((size) => experts % size === 0),
    expert,
  );
  return [
    findingAt(
      run,
      'layout.expert',
      'expert-replicas',
      'error',
      {
        message: `An expert size of ${formatCount(expert)} does not divide the ${plural(replicas, 'replica')} (data x context${expertTensor === tensor ? '' : ' x tensor / expertTensor'}) that share the experts`,
        remedy: `set layout.expert to ${orList(near.map(formatCount))}`,
      },
      setFixes(run, 'layout.expert', near),
    ),
  ];
}
