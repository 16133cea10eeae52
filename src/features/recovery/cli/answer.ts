import { recover, type Failure, type Recovery, type WayId } from '../core';
import { compareWithTimes } from '../../compare/core/against-times';
import { compareWithTrace } from '../../compare/core/against-trace';
import { traceError } from '../../compare/core/events';
import { readOther } from '../../compare/cli/read-measured';
import { ExpectedError } from '../../../core/errors';
import { startErrors } from '../../../core/findings';
import { column, formatBytes, formatCount, formatDuration, formatNumber, plural } from '../../../core/format';
import { lowMedian } from '../../../core/numbers';
import { chosenCandidate } from '../../../core/planner/plan';
import { say, sentence } from '../../../core/sentence';
import { printable } from '../../../core/text';
import { printedFinding, type Answer, type Texts } from '../../../cli/answer';
import type { Planned } from '../../../core/export/planned-config';
import { exitCodeFor } from '../../../cli/planned';
import { indented, table } from '../../../cli/table';
import type { Terminal } from '../../../cli/terminal';

/** The stage that a measured run shows to be slow, over the others. @throws ExpectedError `recovery-straggler` when it shows none. */
export async function findStraggler(planned: Planned, path: string, terminal: Terminal, texts: Map<string, string>): Promise<Failure> {
  const read = await readOther(path, texts, terminal.signal);
  if (read.kind === 'config')
    throw traceError(
      'measured-unknown',
      read.source.file,
      sentence`This is neither a trace nor measured times`,
      sentence`give stage5=1.2, a trace or step times`,
    );
  const { straggler, stages } =
    read.kind === 'trace' ? compareWithTrace(planned.plan, read.trace, path) : compareWithTimes(planned.plan, read.times);
  const slow = stages.find(({ stage }) => stage === straggler);
  const others = lowMedian(stages.filter(({ stage }) => stage !== straggler).map(({ ratio }) => ratio));
  if (slow === undefined)
    throw new ExpectedError(
      'recovery-straggler',
      sentence`The run shows no straggler`,
      sentence`name a stage and how slow it is, as --slow stage5=1.2`,
    );
  return { kind: 'slow', stage: slow.stage, factor: slow.ratio / (stages.length > 1 ? others : 1) };
}

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
      ways: recovery.ways.map(({ id, stepMs, fits, moveMs, movedBytes, summary, hourMs }) => ({
        id,
        stepMs,
        fits,
        moveMs,
        movedBytes,
        says: say(summary),
        hourMs,
      })),
      starts: startErrors(findings).length === 0,
      findings: findings.map((finding) => printedFinding(finding, texts)),
    },
    text: recoveryText(plan.request.title, recovery),
    exitCode: exitCodeFor(findings, best?.fits ?? chosenCandidate(plan).fits),
  };
}

function recoveryText(title: string, { loss, stages, replicas, wholeStepMs, ways, cheapest }: Recovery): string {
  const struck = `${plural(stages.length, 'stage')} (${stages.join(', ')}) of ${plural(replicas, 'replica')}`;
  const what =
    loss.kind === 'without'
      ? `without node ${formatCount(loss.node)}: ${struck} lost`
      : `with stage ${formatCount(loss.stage)} of one replica ${formatNumber(loss.factor)} times as slow`;
  const rows = ways.map(({ id, stepMs, moveMs, movedBytes, hourMs, fits, summary }) => [
    `${id === cheapest ? '* ' : '  '}${wayNames[id]}`,
    stepMs === null ? '' : column.duration(stepMs),
    stepMs === null ? '' : column.duration(moveMs),
    movedBytes === 0 ? '' : formatBytes(movedBytes),
    hourMs === null ? 'cannot' : `${column.number(hourMs / 6e4)} min${fits ? '' : ', does not fit'}`,
    printable(say(summary)),
  ]);
  const heading = ['way', 'step', 'to get there', 'sent to a GPU', "an hour's steps", 'how'];
  return [
    printable(`${title}, ${what}; a step of the whole run takes ${formatDuration(wholeStepMs)}`),
    indented(table([heading, ...rows], [0, 5])),
    cheapest === null ? 'No way is left.' : `Cheapest: ${wayNames[cheapest]}.`,
  ].join('\n\n');
}
