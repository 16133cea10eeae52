import { limiters, type Limiter, type StageLimits } from '../../core/cost/limits';
import { planJson } from '../../core/export/plan-json';
import { formatBytes, formatBytesOf, formatCount, formatDuration, formatNumber, formatPercent, plural } from '../../core/format';
import { chosenOf, peakBytesOf, type Candidate, type Plan } from '../../core/planner/plan';
import { lengthsText } from '../../core/planner/lengths';
import { stageLayersText } from '../../core/planner/search/words';
import { stacksText } from '../../core/planner/stack-cut';
import { printable } from '../../core/text';
import { findingLine, printedFinding, type Answer, type Texts } from '../answer';
import { exitCodeFor, type Planned } from '../planned';
import { schemeText } from '../scheme-text';
import { indented, table } from '../table';

/** `terapipe plan`: the chosen way to run the step beside the others. */
export function planAnswer({ plan, findings }: Planned, texts: Texts): Answer {
  const chosen = chosenOf(plan);
  const printed = findings.map((finding) => printedFinding(finding, texts));
  return {
    json: { ...planJson(plan), findings: printed },
    text: [planText(plan, chosen), ...(printed.length > 0 ? [printed.map(findingLine).join('\n')] : [])].join('\n\n'),
    exitCode: exitCodeFor(findings, chosen.fits),
  };
}

function planText(plan: Plan, chosen: Candidate): string {
  const { request, cost, parameters } = plan;
  const { cluster, layout, model, training } = request;
  const gpus = layout.tensor * layout.pipeline * layout.data * layout.context;
  const worst = chosen.memory.stages.reduce((most, stage) => (stage.peakBytes > most.peakBytes ? stage : most));
  const sizes = (['tensor', 'pipeline', 'data', 'context'] as const)
    .filter((size) => size !== 'context' || layout.context > 1)
    .map((size) => `${size} ${formatCount(layout[size])}`)
    .join(' x ');
  const parts = [
    ['pipeline', chosen.pipelineMs],
    ['gradient exchange', chosen.gradientExchangeMs],
    ['optimizer', chosen.optimizerMs],
  ] as const;
  const exchange = parts.filter(([, ms]) => ms > 0).map(([name, ms]) => `${name} ${formatDuration(ms)}`);
  const facts = [
    ['step', `${formatDuration(chosen.iterationMs)}, give or take ${formatNumber(cost.errorPercent)} %`],
    ...(exchange.length > 1 ? [['', exchange.join(' + ')]] : []),
    ['bubble', bubbleText(chosen.bubbleRate)],
    ['throughput', `${formatCount(chosen.tokensPerSecond)} tokens/s, MFU ${formatPercent(chosen.mfu)}`],
    [
      'memory',
      `${formatBytesOf(worst.peakBytes, chosen.memory.capacityBytes)} on stage ${formatCount(worst.stage)} of ${formatCount(layout.pipeline)}${chosen.fits ? '' : ', does not fit'}`,
    ],
    ...stagesLine(request),
    ...limitLines(plan),
    ['schedule', chosen.name],
    ['slices', schemeText(chosen.scheme)],
  ];
  const compared = plan.candidates.map((candidate) => [
    `${candidate.id === plan.chosen ? '*' : ' '} ${candidate.name}`,
    formatDuration(candidate.iterationMs),
    bubbleText(candidate.bubbleRate),
    formatBytes(peakBytesOf(candidate)),
    candidate.fits ? '' : 'does not fit',
  ]);
  const assumed = request.assumptions
    .filter(({ key }) => !key.startsWith('model.'))
    .map(({ key, value, because }) => [printable(key), printable(value), printable(because)]);
  const section = (title: string, body: string) => `${title}\n${indented(body)}`;
  return [
    printable(
      [
        `${request.title}: ${plural(model.layers, 'layer')}, ${formatCount(parameters)} parameters, ${plural(training.globalBatch, 'sequence')} of ${lengthsText(training)} a step`,
        `on ${formatCount(gpus)} ${cluster.gpu.name}: ${sizes}`,
      ].join(' '),
    ),
    indented(table(facts, [1])),
    section('Compared', table([['', 'step', 'bubble', 'memory', ''], ...compared], [4])),
    ...(plan.reasons.length > 0 ? [section('Why', plan.reasons.map(printable).join('\n'))] : []),
    section(
      'Times',
      `${printable(cost.description)}
${formatNumber(cost.errorPercent)} % either way: ${printable(cost.errorBecause)}`,
    ),
    ...(assumed.length > 0 ? [section('Assumed', table(assumed, [1, 2]))] : []),
  ].join('\n\n');
}

/** The cut, where the files give one or the layers are of two stacks. */
function stagesLine(request: Plan['request']): string[][] {
  const { stageLayers } = request.layout;
  const stages = stacksText(request) ?? (stageLayers === undefined ? null : stageLayersText({ stageLayers }));
  return stages === null ? [] : [['stages', stages]];
}

/** A share of idle time; what zero-bubble schedules leave of it is less than can be predicted. */
function bubbleText(rate: number): string {
  return rate > 0 && rate < 0.001 ? '< 0.1 %' : formatPercent(rate);
}

/** What each limiter is called. */
const limiterNames: Readonly<Record<Limiter, string>> = {
  issue: 'issuing operations',
  memory: 'memory traffic',
  math: 'arithmetic',
  exchange: 'exchanges inside layers',
  send: 'sends between stages',
};

/** What the stages' time goes to, largest first, and where the largest is another on some stages. */
function limitLines({ limits }: Plan): string[][] {
  const first = limits?.reduce((slowest, stage) => (totalOf(stage) > totalOf(slowest) ? stage : slowest));
  if (!limits || first === undefined) return [];
  const shares = limiters
    .map((name) => [name, first.ms[name] / totalOf(first)] as const)
    .filter(([, share]) => share >= 0.005)
    .sort(([, a], [, b]) => b - a)
    .map(([name, share]) => `${limiterNames[name]} ${formatPercent(share)}`);
  const others = limits.flatMap(({ limiter }, stage) =>
    limiter === first.limiter ? [] : [`stage ${formatCount(stage)} ${limiterNames[limiter]}`],
  );
  const [other] = others;
  const apart = other === undefined ? '' : `; ${other}${others.length > 1 ? ` and ${formatCount(others.length - 1)} more` : ''}`;
  return [['limited by', `${shares.join(', ')} on the slowest stage${apart}`]];
}

function totalOf({ ms }: StageLimits): number {
  return limiters.reduce((sum, name) => sum + ms[name], 0);
}
