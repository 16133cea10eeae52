import type { Run } from '../../formats/run';
import type { Finding } from '../../findings';
import { formatCount, plural } from '../../format';
import { orList } from '../../text';
import type { Plan } from '../../planner/plan';
import { divisorsOf, nearest } from '../../numbers';
import { findingAt, setFixes } from './settings';

/** Findings on a mixture of experts and on how it is divided; the plan gives the replicas where no file does. */
export function expertFindings(run: Run, plan: Plan | null): Finding[] {
  const { experts, activeExperts } = run.model;
  if (experts.value === null && activeExperts.value === null) return denseFindings(run);
  if (experts.value === null || activeExperts.value === null) return [halfGiven(run, experts.value === null)];
  if (activeExperts.value > experts.value) return [];
  return replicaFindings(run, plan, experts.value);
}

function denseFindings(run: Run): Finding[] {
  const expert = run.layout.expert?.value ?? 1;
  if (expert === 1) return [];
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

function halfGiven(run: Run, withoutExperts: boolean): Finding {
  const [given, missing] = withoutExperts ? ['model.activeExperts', 'model.experts'] : ['model.experts', 'model.activeExperts'];
  return findingAt(run, given, 'experts-active', 'error', {
    message: `There is ${given} without ${missing}: planned as a dense model`,
    remedy: `give ${missing} too, or remove ${given}`,
  });
}

function replicaFindings(run: Run, plan: Plan | null, experts: number): Finding[] {
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
