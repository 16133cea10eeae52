import { recover, type Failure, type Recovery, type WayId } from './core';
import { startErrors } from '../../core/findings';
import { column, formatBytes, formatCount, formatDuration, formatNumber, plural } from '../../core/format';
import { chosenOf } from '../../core/planner/plan';
import { say } from '../../core/sentence';
import { printable } from '../../core/text';
import { printedFinding, type Answer, type Texts } from '../../cli/answer';
import { exitCodeFor, type Planned } from '../../cli/planned';
import { indented, table } from '../../cli/table';

const wayNames: Readonly<Record<WayId, string>> = {
  keep: 'go on as it is',
  work: 'spread the work over the other replicas',
  layers: 'spread the layers over the other stages',
  replicas: 'fewer replicas',
};

/** `terapipe plan --without` and `--slow`: the ways to go on with what is left, the cheapest first named. */
export function recoveryAnswer({ plan, findings }: Planned, loss: Failure, texts: Texts): Answer {
  const recovery = recover(plan, loss);
  const best = recovery.ways.find(({ id }) => id === recovery.cheapest);
  return {
    json: {
      version: 1,
      title: plan.request.title,
      ...recovery,
      ways: recovery.ways.map((way) => ({ ...way, says: say(way.says) })),
      starts: startErrors(findings).length === 0,
      findings: findings.map((finding) => printedFinding(finding, texts)),
    },
    text: textOf(plan.request.title, recovery),
    exitCode: exitCodeFor(findings, best?.fits ?? chosenOf(plan).fits),
  };
}

function textOf(title: string, { loss, stages, replicas, wholeStepMs, ways, cheapest }: Recovery): string {
  const struck = `${plural(stages.length, 'stage')} (${stages.join(', ')}) of ${plural(replicas, 'replica')}`;
  const what =
    loss.kind === 'without'
      ? `without node ${formatCount(loss.node)}: ${struck} lost`
      : `with stage ${formatCount(loss.stage)} of one replica ${formatNumber(loss.factor)} times as slow`;
  const rows = ways.map(({ id, stepMs, moveMs, movedBytes, hourMs, fits, says }) => [
    `${id === cheapest ? '* ' : '  '}${wayNames[id]}`,
    stepMs === null ? '' : column.duration(stepMs),
    stepMs === null ? '' : column.duration(moveMs),
    movedBytes === 0 ? '' : formatBytes(movedBytes),
    hourMs === null ? 'cannot' : `${column.number(hourMs / 6e4)} min${fits ? '' : ', does not fit'}`,
    printable(say(says)),
  ]);
  const heading = ['way', 'step', 'to get there', 'sent to a GPU', "an hour's steps", 'how'];
  return [
    printable(`${title}, ${what}; a step of the whole run takes ${formatDuration(wholeStepMs)}`),
    indented(table([heading, ...rows], [0, 5])),
    cheapest === null ? 'No way is left.' : `Cheapest: ${wayNames[cheapest]}.`,
  ].join('\n\n');
}
