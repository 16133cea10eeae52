import { clusterText } from '../../core/cluster/groups';
import type { ConfigFormat } from '../../core/run/config-format';
import { formatBytes, formatDuration, formatPercent, formatTokens, plural } from '../../core/format';
import { scenarioText } from '../../core/plan-request/scenario';
import { stageFits } from '../../core/memory-model/verdict';
import { chosenCandidate, type Candidate } from '../../core/planner/plan';
import { groupRows, type FactRow, type GroupRow } from '../language/launcher-outline';
import type { SessionState } from '../../host/sessions/session-state';
import { elasticText, memoryText, planSummary } from '../../host/plan-summary';
import { say, type Translate } from '../../core/sentence';

/** A row of the tree of models and plans, as data. */
export type ExplorerItem =
  | { readonly kind: 'config'; readonly file: string; readonly format: ConfigFormat }
  | { readonly kind: 'number'; readonly file: string; readonly label: string; readonly value: string; readonly icon: string }
  | { readonly kind: 'stages'; readonly file: string; readonly label: string }
  | { readonly kind: 'stage'; readonly file: string; readonly label: string; readonly value: string; readonly overCapacity: boolean }
  | GroupRow
  | FactRow;

/** The rows under a config: the numbers of its plan, or what stops it, and the outline of a launcher's run. */
export function configItems(state: SessionState, t: Translate): readonly ExplorerItem[] {
  return [...planItems(state, t), ...groupRows(state, t)];
}

/** The numbers of a plan, or what stops it. */
function planItems(state: SessionState, t: Translate): readonly ExplorerItem[] {
  const { file, plan, elastic, error } = state;
  const number = (label: string, value: string, icon: string): ExplorerItem => ({ kind: 'number', file, label, value, icon });
  const problem = error === null ? [] : [number(t('Error'), say(error.what, t), 'error')];
  const freezing = elastic === null ? [] : [number(t('Elastic'), elasticText(elastic.plan, t), 'layers')];
  if (plan === null) return [...problem, ...freezing];
  const chosen = chosenCandidate(plan);
  const summary = planSummary(plan);
  const { layout, cluster, profile } = plan.request;
  return [
    ...problem,
    number(t('Step'), summary.stepText, 'watch'),
    number(t('Bubble'), summary.bubbleText, 'circle-outline'),
    number(t('Memory'), memoryText(summary, t), summary.verdict.fits ? 'server' : 'error'),
    number(t('Schedule'), say(chosen.name, t), 'graph'),
    number(t('Layout'), t('tensor {0}, pipeline {1}, data {2}', layout.tensor, layout.pipeline, layout.data), 'split-horizontal'),
    number(t('Cluster'), say(clusterText(cluster), t), 'server-environment'),
    number(t('Planned for'), say(scenarioText(plan.request), t), 'pinned'),
    number(t('Throughput'), t('{0} a second', formatTokens(Math.round(chosen.tokensPerSecond))), 'dashboard'),
    ...(profile === null ? [] : [number(t('Profile'), profile.profile.device.name, 'pulse')]),
    ...freezing,
    { kind: 'stages', file, label: plural(chosen.memory.stages.length, 'stage') },
  ];
}

/** One row a stage: busy time, idle share and peak memory. */
export function stageItems(file: string, candidate: Candidate, t: Translate): readonly ExplorerItem[] {
  const { memory, busyMs, pipelineMs } = candidate;
  return memory.stages.map((ofStage) => {
    const { stage, peakBytes, gpu } = ofStage;
    const busy = busyMs[stage] ?? 0;
    return {
      kind: 'stage',
      file,
      label: gpu === undefined ? t('Stage {0}', stage) : t('Stage {0}, {1}', stage, gpu),
      value: t(
        '{0} busy, {1} idle, {2}',
        formatDuration(busy),
        formatPercent(pipelineMs > 0 ? 1 - busy / pipelineMs : 0),
        formatBytes(peakBytes),
      ),
      overCapacity: !stageFits(ofStage),
    };
  });
}
