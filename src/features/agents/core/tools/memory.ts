import * as v from 'valibot';
import { stagesJson, type StageJson } from '../../../../core/export/plan-json';
import { formatBytes } from '../../../../core/format';
import { limitText, mayFit, memoryVerdict } from '../../../../core/memory-model/verdict';
import { chosenCandidate } from '../../../../core/planner/plan';
import { say } from '../../../../core/sentence';
import { boundedAnswer, few, gib, defineTool } from '../tool';
import { askedEntries } from '../input';
import { planAsked } from '../load';
import { assumesText, memoryData, memoryText, remediesText, runsText, startsText, titleText } from '../words';

export const memoryTool = defineTool({
  title: 'Memory of each pipeline stage',
  description:
    'Predicts peak GPU memory of every pipeline stage and what it is made of: weights, gradients, optimizer state, activations, workspaces and logits. Use it to explain an out-of-memory error, to see which stage is the largest and why, and to compare what recompute, ZeRO or another size would free (give them in "set"). Reads only.',
  input: v.object(askedEntries),
  example: { path: 'config.json', gpu: 'H100-80GB', nodes: 8, set: { 'layout.tensor': 8, 'layout.pipeline': 4 } },
  async run(asked, host) {
    const { planned, texts } = await planAsked(asked, host);
    const { plan, findings, remedies = [] } = planned;
    const chosen = chosenCandidate(plan);
    const verdict = memoryVerdict(chosen.memory);
    const stages = grouped(stagesJson(chosen.memory));
    return boundedAnswer(
      [
        titleText(plan),
        runsText(plan.request, chosen),
        memoryText(chosen),
        mayFit(verdict) ? null : remediesText(remedies),
        ...few(stages, 8).map(({ label, stage }) => stageText(label, stage)),
        stages.length > 8 ? `${stages.length - 8} more groups of stages need less.` : null,
        `${say(limitText(verdict))}.`,
        startsText(findings, texts),
        assumesText(plan, chosen),
        mayFit(verdict)
          ? 'Next: terapipe_max for the largest sequence or micro-batch that still fits.'
          : 'Next: one of these changes in "set", or terapipe_search.',
      ],
      {
        memory: memoryData(verdict),
        stages: few(stages, 8).map(({ label, stage }) => ({
          stages: label,
          weightsGiB: gib(stage.weightsBytes),
          gradientsGiB: gib(stage.gradientsBytes),
          optimizerGiB: gib(stage.optimizerBytes),
          activationsGiB: gib(stage.activationsBytes),
          otherGiB: gib(stage.otherBytes),
          peakGiB: gib(stage.peakBytes),
        })),
      },
    );
  },
});

/** `Stage 0: peak 46.9 GiB in head backward: weights 4.5, gradients 9, ...`. */
function stageText(label: string, stage: StageJson): string {
  const { weightsBytes, gradientsBytes, optimizerBytes, activationsBytes, otherBytes, peakBytes, peakOperation } = stage;
  return `Stage ${label}: peak ${formatBytes(peakBytes)} in ${peakOperation}: weights ${formatBytes(weightsBytes)}, gradients ${formatBytes(gradientsBytes)}, optimizer ${formatBytes(optimizerBytes)}, activations ${formatBytes(activationsBytes)}, other ${formatBytes(otherBytes)}.`;
}

/** Consecutive stages that read the same, the largest peak first. */
function grouped(stages: readonly StageJson[]): { readonly label: string; readonly stage: StageJson }[] {
  const groups: { first: number; last: number; stage: StageJson }[] = [];
  for (const stage of stages) {
    const group = groups.at(-1);
    if (group !== undefined && stageText('', group.stage) === stageText('', stage)) group.last = stage.stage;
    else groups.push({ first: stage.stage, last: stage.stage, stage });
  }
  return groups
    .toSorted((a, b) => b.stage.peakBytes - a.stage.peakBytes)
    .map(({ first, last, stage }) => ({ label: first === last ? String(first) : `${first}-${last}`, stage }));
}
