import {
  bytesOfQuantity,
  durationQuantity,
  formatBytes,
  formatCount,
  formatDuration,
  formatDurationRange,
  formatNumber,
  formatPercent,
  formatRate,
  plural,
} from '../../format';
import { gpusText, nodeGroups, placementText } from '../../cluster/groups';
import { lengthsText } from '../../plan-request/scenario';
import { usedText, memoryVerdict, verdictText, verdictWord } from '../../memory-model/verdict';
import { chosenCandidate, type Candidate, type Plan } from '../../planner/plan';
import { hasAttention, layerStateMixer } from '../../model/mixers';
import type { ModelSpec, StateMixer } from '../../domain/model';
import { operationKind } from '../../schedules/schedule';
import { limitedBy } from '../../planner/explain/limit-labels';
import { isTie } from '../../planner/explain/reasons';
import { stageLayersText } from '../../layout-search/labels';
import { stacksText } from '../../partition/stack-cut';
import { printable } from '../../text';
import { stepTail, type Tail } from '../../planner/explain/tail';
import { activationCopiesName, tailPartName, timelineSvg } from '../svg';
import { memorySection } from './memory-section';
import { element, row, section, text } from './markup';
import { assumptionsSection, findingsSection, htmlPage, listSection, numberBoxes, type ReportFinding } from './sections';
import { say } from '../../sentence';
import { gpusUsed } from '../../domain/request';

/** Rectangles of the timeline: enough for a page, and a file of a megabyte at most. */
const maximumRectangles = 8000;
const widthPx = 1080;

/**
 * A plan as one HTML page to send around: everything is in it, nothing is loaded and nothing runs. It prints, and follows the reader's
 * light or dark theme. All text from files is escaped, and control and bidirectional characters in it are written out.
 */
export function planHtml(plan: Plan, findings: readonly ReportFinding[]): string {
  const chosen = chosenCandidate(plan);
  const title = plan.request.title === '' ? 'A plan' : plan.request.title;
  return htmlPage(title, [
    headSection(title, plan, chosen),
    numbersSection(plan, chosen),
    timelineSection(title, chosen),
    memorySection(chosen.memory),
    candidatesSection(plan),
    listSection(
      'Why this plan',
      plan.reasons.map((reason) => say(reason)),
    ),
    timesSection(plan, chosen),
    findingsSection(findings),
    runSection(plan),
    assumptionsSection(plan.request.assumptions),
  ]);
}

function headSection(title: string, { request, parameters }: Plan, chosen: Candidate): string {
  const { model, training, cluster, layout } = request;
  const gpus = gpusUsed(layout);
  const sizes = (['tensor', 'pipeline', 'data', 'context', 'expert', 'virtualStages'] as const)
    .filter((size) => layout[size] > 1 || size === 'tensor' || size === 'pipeline' || size === 'data')
    .map((size) => `${size === 'virtualStages' ? 'virtual stages' : size} ${formatCount(layout[size])}`);
  const stages = stacksText(request) ?? (layout.stageLayers === undefined ? null : stageLayersText({ stageLayers: layout.stageLayers }));
  const placement = placementText(cluster, layout);
  const cut = `${stages === null ? '' : `; ${say(stages)}`}${placement === null ? '' : `; ${say(placement)}`}`;
  const what = `${plural(model.layers, 'layer')}, ${formatCount(parameters)} parameters; ${plural(training.globalBatch, 'sequence')} of ${say(lengthsText(training))} a step on ${gpusText(cluster, gpus)}`;
  return `<header>\n${element('h1', text(title))}\n${element('p', text(what))}\n${element('p', text(`${say(chosen.name)}: ${sizes.join(' x ')}${cut}`), 'layout')}\n</header>`;
}

function numbersSection({ cost }: Plan, chosen: Candidate): string {
  const step = durationQuantity(chosen.iterationMs);
  const verdict = memoryVerdict(chosen.memory);
  const memory = bytesOfQuantity(verdict.peakBytes, verdict.usableBytes);
  const numbers = [
    { name: 'Step', value: step.value, unit: step.unit, note: formatDurationRange(chosen.iterationMs, cost.range) },
    {
      name: 'Bubble',
      value: formatNumber(chosen.bubbleRate * 100),
      unit: '%',
      note: `${formatRate(chosen.tokensPerSecond)} tokens/s, MFU ${formatPercent(chosen.mfu)}`,
    },
    {
      name: 'Memory',
      value: memory.used,
      unit: `/ ${memory.capacity} ${memory.unit}`,
      note: `stage ${formatCount(verdict.stage)} of ${formatCount(verdict.stages)}; ${say(verdictText(verdict))}`,
      isBad: !chosen.fits,
    },
  ];
  return numberBoxes('Step time, bubble and memory', numbers);
}

/** What the picture shows: class and name of each pass. */
function passes(timeline: Candidate['timeline']): (readonly [className: string, name: string])[] {
  if (timeline?.kind.includes(operationKind.backwardWeight) !== true)
    return [
      ['forward', 'forward'],
      ['backward', 'backward'],
    ];
  return [
    ['forward', 'forward'],
    ['backward', 'backward of inputs'],
    ['backward-weight', 'backward of weights'],
  ];
}

/** Class and name of what follows the passes, as far as it is drawn. */
function tailKinds(tail: Tail | null): (readonly [className: string, name: string])[] {
  const drawn = new Set(tail?.ofStage.flatMap((parts) => parts.map(({ kind }) => kind)));
  const exchange = drawn.has('gradientExchange') ? 'gradientExchange' : 'hiddenExchange';
  return ([[exchange, 'gradients'], ['optimizer', 'optimizer']] as const) // prettier-ignore
    .filter(([kind]) => drawn.has(kind))
    .map(([kind, className]) => [className, tailPartName(kind)] as const);
}

function timelineSection(title: string, candidate: Candidate): string {
  const { timeline, name, pipelineMs, gradientExchangeMs, optimizerMs } = candidate;
  const tail = timeline === null ? null : stepTail(timeline, candidate);
  const parts = [
    ['pipeline', pipelineMs],
    ['gradient exchange', gradientExchangeMs],
    ['optimizer', optimizerMs],
  ] as const;
  const shown = parts.filter(([, ms]) => ms > 0).map(([part, ms]) => `${part} ${formatDuration(ms)}`);
  const colors = {
    background: 'var(--surface)',
    foreground: 'var(--foreground)',
    dim: 'var(--muted)',
    line: 'var(--rule)',
    forward: 'var(--forward)',
    backward: 'var(--backward)',
    backwardWeight: 'var(--backward-weight)',
    gradientExchange: 'var(--gradients)',
    optimizer: 'var(--optimizer)',
    copies: 'var(--keys-values)',
  };
  const picture =
    timeline === null
      ? element('p', 'The schedule has too many operations to be drawn.')
      : `<div class="picture">${timelineSvg(timeline, { title: printable(`${title}: ${say(name)}`), widthPx, colors, tail, maximumRectangles })}</div>`;
  const copies = timeline?.copies === undefined ? [] : [['copies', activationCopiesName] as const];
  const key = `<p class="key">${[...passes(timeline), ...tailKinds(tail), ...copies]
    .map(([className, name]) => `<span class="swatch ${className}"></span>${name}`)
    .join(' ')}</p>`;
  return section('Timeline', `${element('p', text(`One step: ${shown.join(' + ')}. One row a stage.`))}\n${key}\n${picture}`);
}

function candidatesSection(plan: Plan): string {
  const { candidates, chosen } = plan;
  const rows = candidates.map((candidate) =>
    row(
      [
        `${text(say(candidate.name))}${candidate.id === chosen ? ' <em>chosen</em>' : isTie(plan, candidate) ? ' <em>tie</em>' : ''}`,
        text(formatDuration(candidate.iterationMs)),
        text(formatPercent(candidate.bubbleRate)),
        text(usedText(memoryVerdict(candidate.memory))),
        text(formatRate(candidate.tokensPerSecond)),
        text(formatPercent(candidate.mfu)),
        candidate.fits ? text(say(verdictWord(candidate))) : element('em', say(verdictWord(candidate)), 'bad'),
      ],
      candidate.id === chosen ? 'chosen' : '',
    ),
  );
  const head = row(['Schedule', 'Step', 'Bubble', 'Memory', 'Tokens/s', 'MFU', ''], '', 'th');
  return section('Compared', `<table class="figures"><thead>${head}</thead><tbody>\n${rows.join('\n')}\n</tbody></table>`);
}

function timesSection({ cost, request, analytic, limits }: Plan, { certificate }: Candidate): string {
  const limited = limitedBy(limits);
  const sentences = [
    say(cost.description),
    `±${formatNumber(cost.errorPercent)} %: ${say(cost.errorBecause)}; plans closer than that are within error of each other`,
    ...(limited === null ? [] : [`Limited by ${say(limited)}`]),
    ...(request.profile === null ? [] : [`Profile: ${request.profile.file}`]),
    ...(analytic === null ? [] : [`By the analytic model: ${say(analytic.name)}, ${formatDuration(analytic.iterationMs)}`]),
    ...(certificate === null
      ? []
      : [
          `Optimum of the slicing ${formatDuration(certificate.optimumMs)}, proved bound ${formatDuration(certificate.lowerBoundMs)}: ${say(certificate.note)}`,
        ]),
    ...new Set(nodeGroups(request.cluster).flatMap(({ gpu, links }) => [gpu.source, links.source])),
  ];
  return listSection('What the times rest on', sentences);
}

/** The sizes of what the layers consist of: attention, a state, a feed-forward network, each where a layer has it. */
function layersText(model: ModelSpec): string {
  const kinds = model.layerKinds ?? [];
  const states = kinds.filter((kind) => layerStateMixer(model, kind) !== null).length;
  const { state } = model;
  return [
    ...(kinds.length > 0 && !kinds.some(hasAttention)
      ? []
      : [`${plural(model.heads, 'head')} (${formatCount(model.kvHeads)} of keys and values)`]),
    ...(state === undefined ? [] : [`${stateText(state)} in ${plural(states, 'layer')}`]),
    ...(kinds.length > 0 && kinds.every(({ feedForward }) => feedForward === 'none') ? [] : [`feed-forward ${formatCount(model.ffn)}`]),
  ].join(', ');
}

function stateText({ kind, heads, headDim, stateDim }: StateMixer): string {
  if (kind === 'mamba') return `${plural(heads * headDim, 'channel')} with a state of ${formatCount(stateDim)}`;
  return `${plural(heads, 'head')} with a state of ${formatCount(stateDim)} × ${formatCount(headDim)}`;
}

function runSection({ request }: Plan): string {
  const { model, training, cluster } = request;
  const rows = [
    [
      'Model',
      `${model.modelType}: ${plural(model.layers, 'layer')}, hidden ${formatCount(model.hidden)}, ${layersText(model)}, vocabulary ${formatCount(model.vocab)}`,
    ],
    [
      'Training',
      `${training.precision}, ${training.optimizer}, ZeRO ${training.zeroStage}, micro-batch ${formatCount(training.microBatch)}, global batch ${formatCount(training.globalBatch)}, recompute ${training.recompute}, attention ${training.attention}, sequence parallelism ${training.sequenceParallel ? 'on' : 'off'}`,
    ],
    [
      'Cluster',
      nodeGroups(cluster)
        .map(
          ({ nodes, gpusPerNode, gpu, links }) =>
            `${plural(nodes, 'node')} of ${formatCount(gpusPerNode)} ${gpu.name} (${formatBytes(gpu.memoryBytes)}), ${formatNumber(links.nicGBps)} GB/s between nodes`,
        )
        .join('; '),
    ],
  ] as const;
  return section('The run', `<table><tbody>\n${rows.map(([name, value]) => row([text(name), text(value)])).join('\n')}\n</tbody></table>`);
}
