import { stagesJson, type StageJson } from '../../core/export/plan-json';
import { column, formatBytes, formatCount, plural } from '../../core/format';
import { limitText, mayFit, usedText, memoryVerdict, verdictSentence } from '../../core/memory-model/verdict';
import { hostText, uncountedOnHost } from '../../core/partition/host-parts';
import { chosenCandidate } from '../../core/planner/plan';
import { printable } from '../../core/text';
import { findingLine, printedFinding, type Answer, type Texts } from '../answer';
import type { Planned } from '../../core/export/planned-config';
import { exitCodeFor } from '../planned';
import { indented, table } from '../table';
import { say } from '../../core/sentence';

/** `terapipe memory`: every stage of the chosen schedule. */
export function memoryAnswer({ plan, findings }: Planned, texts: Texts): Answer {
  const { memory, schedule, name, fits, tight, host } = chosenCandidate(plan);
  const verdict = memoryVerdict(memory);
  const stages = stagesJson(memory);
  const { layout } = plan.request;
  const printed = findings.map((finding) => printedFinding(finding, texts));
  const rows = grouped(stages).map(({ label, stage }) => [
    label,
    column.bytes(stage.weightsBytes),
    column.bytes(stage.gradientsBytes),
    column.bytes(stage.optimizerBytes),
    column.bytes(stage.activationsBytes),
    column.bytes(stage.otherBytes),
    usedText(stage),
    column.bytes(stage.reservedBytes),
    column.bytes(stage.inUseBytes),
    `${stage.peakOperation}${stage.gpu === undefined ? '' : `, ${stage.gpu}`}`,
  ]);
  const heading = ['stage', 'weights', 'gradients', 'optimizer', 'activations', 'other', 'peak', 'reserved', 'GPU memory', 'peak in'];
  return {
    json: {
      version: 1,
      stages,
      parameters: plan.parameters,
      schedule,
      layout,
      runtime: memory.runtime,
      marginBytes: memory.marginBytes,
      usableBytes: verdict.usableBytes,
      fits: mayFit({ fits, tight }),
      tight,
      host,
      findings: printed,
    },
    text: [
      printable(`${plan.request.title}: ${formatCount(plan.parameters)} parameters, ${say(name)}, ${plural(layout.pipeline, 'stage')}`),
      '',
      indented(table([heading, ...rows], [9])),
      '',
      `${say(verdictSentence(verdict))}. ${say(limitText(verdict))}`,
      `${say(hostText(host))}; ${say(uncountedOnHost)}`,
      ...(printed.length > 0 ? ['', ...printed.map(findingLine)] : []),
    ].join('\n'),
    exitCode: exitCodeFor(findings, mayFit({ fits, tight })),
  };
}

/** Consecutive stages that read the same, as one row: `2-95`. Stages memory from 0, as launchers do. */
function grouped(stages: readonly StageJson[]): { label: string; stage: StageJson }[] {
  const groups: { first: number; last: number; stage: StageJson }[] = [];
  for (const stage of stages) {
    const group = groups.at(-1);
    if (group !== undefined && shown(group.stage) === shown(stage)) group.last = stage.stage;
    else groups.push({ first: stage.stage, last: stage.stage, stage });
  }
  return groups.map(({ first, last, stage }) => ({ label: first === last ? String(first) : `${first}-${last}`, stage }));
}

function shown({ weightsBytes, gradientsBytes, optimizerBytes, activationsBytes, otherBytes, peakBytes, gpu }: StageJson): string {
  return [...[weightsBytes, gradientsBytes, optimizerBytes, activationsBytes, otherBytes, peakBytes].map(formatBytes), gpu].join();
}
