import { formatBytes, formatBytesOf, formatCount, plural } from '../../core/format';
import type { MemoryPart, StageMemory } from '../../core/memory/profile';
import { chosenOf } from '../../core/planner/plan';
import { printable } from '../../core/text';
import { findingLine, printedFinding, type Answer, type Texts } from '../answer';
import { exitCodeFor, type Planned } from '../planned';
import { indented, table } from '../table';

/** Peak memory of one stage in the parts that cli.md promises; they add up to `peakBytes`. */
export interface PrintedStage {
  readonly stage: number;
  readonly weightsBytes: number;
  readonly gradientsBytes: number;
  readonly optimizerBytes: number;
  /** Saved for backward, keys and values of earlier slices included. */
  readonly activationsBytes: number;
  /** Dummy gradients, logits, and what the operation at the peak holds. */
  readonly otherBytes: number;
  readonly peakBytes: number;
  readonly capacityBytes: number;
  /** The operation whose working set makes the peak. */
  readonly peakOperation: string;
}

/** A stage's memory as printed. */
export function printedStage({ stage, parts, peakBytes, peakOperation }: StageMemory, capacityBytes: number): PrintedStage {
  const sum = (...names: MemoryPart[]) => names.reduce((bytes, name) => bytes + parts[name], 0);
  return {
    stage,
    weightsBytes: parts.weights,
    gradientsBytes: parts.gradients,
    optimizerBytes: parts.optimizer,
    activationsBytes: sum('activations', 'keysValues'),
    otherBytes: sum('dummyGradients', 'logits', 'backwardOperation'),
    peakBytes,
    capacityBytes,
    peakOperation,
  };
}

/** `terapipe memory`: every stage of the chosen schedule. */
export function memoryAnswer({ plan, findings }: Planned, texts: Texts): Answer {
  const { memory, schedule, name, fits } = chosenOf(plan);
  const stages = memory.stages.map((stage) => printedStage(stage, memory.capacityBytes));
  const { layout } = plan.request;
  const printed = findings.map((finding) => printedFinding(finding, texts));
  const rows = grouped(stages).map(({ label, stage }) => [
    label,
    formatBytes(stage.weightsBytes),
    formatBytes(stage.gradientsBytes),
    formatBytes(stage.optimizerBytes),
    formatBytes(stage.activationsBytes),
    formatBytes(stage.otherBytes),
    formatBytesOf(stage.peakBytes, stage.capacityBytes),
    `in ${stage.peakOperation}`,
  ]);
  const heading = ['stage', 'weights', 'gradients', 'optimizer', 'activations', 'other', 'peak', ''];
  return {
    json: {
      version: 1,
      stages,
      parameters: plan.parameters,
      schedule,
      layout,
      runtime: memory.runtime,
      marginBytes: memory.marginBytes,
      fits,
      findings: printed,
    },
    text: [
      printable(`${plan.request.title}: ${formatCount(plan.parameters)} parameters, ${name}, ${plural(layout.pipeline, 'stage')}`),
      '',
      indented(table([heading, ...rows], [7])),
      '',
      `${fits ? 'Fits' : 'Does not fit'} with ${formatBytes(memory.marginBytes)} kept free: ${memory.marginBecause}`,
      ...(printed.length > 0 ? ['', ...printed.map(findingLine)] : []),
    ].join('\n'),
    exitCode: exitCodeFor(findings, fits),
  };
}

/** Consecutive stages that read the same, as one row: `2-95`. Stages counted from 1, as launchers print them. */
function grouped(stages: readonly PrintedStage[]): { label: string; stage: PrintedStage }[] {
  const groups: { first: number; last: number; stage: PrintedStage }[] = [];
  for (const stage of stages) {
    const group = groups.at(-1);
    if (group !== undefined && shown(group.stage) === shown(stage)) group.last = stage.stage;
    else groups.push({ first: stage.stage, last: stage.stage, stage });
  }
  return groups.map(({ first, last, stage }) => ({ label: first === last ? String(first + 1) : `${first + 1}-${last + 1}`, stage }));
}

function shown({ weightsBytes, gradientsBytes, optimizerBytes, activationsBytes, otherBytes, peakBytes }: PrintedStage): string {
  return [weightsBytes, gradientsBytes, optimizerBytes, activationsBytes, otherBytes, peakBytes].map(formatBytes).join();
}
