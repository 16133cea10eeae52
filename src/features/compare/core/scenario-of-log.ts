import type { RunLog } from './logs/run-log';
import { gpusUsed, type PlanRequest } from '../../../core/domain/request';
import { sentence, type Sentence } from '../../../core/sentence';
import { planScenario, type Scenario, type ScenarioKey } from '../../../core/plan-request/scenario';

/** Why a value that no file gives is as in a measured log. */
const asLogged = sentence`as in the measured log`;

/**
 * The scenario of a run whose log is measured, for what no file sets: GPUs, lengths, batch and layout of the log take the place of what was
 * assumed. Null: the log has nothing on what was assumed.
 */
export function scenarioOfLog({ facts, program }: Pick<RunLog, 'facts' | 'program'>, request: PlanRequest): Scenario | null {
  const assumed = planScenario(request);
  const sizes = loggedLayout({ facts, program }, request);
  const gpus = facts.gpus ?? (sizes === null ? undefined : gpusUsed(sizes));
  const perNode = Math.min(gpus ?? assumed.gpusPerNode, assumed.gpusPerNode);
  const logged: readonly (readonly [ScenarioKey, boolean])[] = [
    ['cluster.gpusPerNode', gpus !== undefined],
    ['cluster.nodes', gpus !== undefined && gpus % perNode === 0],
    ['training.sequenceLength', facts['training.sequenceLength'] !== undefined],
    ['training.globalBatch', facts['training.globalBatch'] !== undefined],
    ...(['tensor', 'pipeline', 'data', 'expert'] as const).map((size) => [`layout.${size}`, sizes !== null] as const),
  ];
  const keys = logged.filter(([key, isLogged]) => isLogged && assumed.reasons[key] !== undefined).map(([key]) => key);
  if (keys.length === 0) return null;
  return {
    ...assumed,
    gpusPerNode: perNode,
    nodes: gpus === undefined ? assumed.nodes : Math.ceil(gpus / perNode),
    sequenceLength: facts['training.sequenceLength'] ?? assumed.sequenceLength,
    globalBatch: facts['training.globalBatch'] ?? assumed.globalBatch,
    layout: sizes ?? assumed.layout,
    reasons: Object.fromEntries(keys.map((key): [ScenarioKey, Sentence] => [key, asLogged])),
    keptReason: asLogged,
  };
}

/**
 * The layout of a log; null unless it shows how the model is split. DeepSpeed and the Trainer do not split models and log only their
 * replicas; Megatron-DeepSpeed logs as Megatron-LM does.
 */
function loggedLayout(
  { facts, program }: Pick<RunLog, 'facts' | 'program'>,
  { layout, assumptions }: PlanRequest,
): Scenario['layout'] | null {
  const isWhole = program === 'deepspeed' || program === 'trainer';
  const loggedSize = (size: 'tensor' | 'pipeline'): number | undefined => {
    const isAssumed = assumptions.some(({ key }) => key === `layout.${size}`);
    return facts[`layout.${size}`] ?? (isWhole ? (isAssumed ? 1 : layout[size]) : undefined);
  };
  const { 'layout.context': context = layout.context, gpus } = facts;
  const [tensor, pipeline] = [loggedSize('tensor'), loggedSize('pipeline')];
  if (tensor === undefined || pipeline === undefined) return null;
  const data = facts['layout.data'] ?? (gpus === undefined ? null : gpus / (tensor * pipeline * context));
  if (data === null || !Number.isInteger(data)) return null;
  return { ...layout, tensor, pipeline, context, data, expert: facts['layout.expert'] ?? layout.expert };
}
