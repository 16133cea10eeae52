import { epochVerdict } from './stage-bytes';
import { variantNames, type ElasticEpoch, type ElasticPlan } from './plan';
import {
  bytesOfQuantity,
  durationQuantity,
  formatBytes,
  formatCount,
  formatDuration,
  formatNumber,
  formatPercent,
  plural,
} from '../../../core/format';
import { say } from '../../../core/sentence';
import { capitalised } from '../../../core/text';
import { usedText, verdictText } from '../../../core/memory-model/verdict';
import { escapeXml } from '../../../core/export/svg';
import { element, row, section, text } from '../../../core/export/html/markup';
import {
  assumptionsSection,
  findingsSection,
  htmlPage,
  listSection,
  numberBoxes,
  type ReportFinding,
} from '../../../core/export/html/sections';

const widthPx = 1080;
const heightPx = 120;

/** A run that freezes layers as one HTML page, as `planHtml` writes a plan. */
export function elasticHtml(plan: ElasticPlan, findings: readonly ReportFinding[]): string {
  const title = plan.request.title === '' ? 'A plan' : plan.request.title;
  return htmlPage(title, [
    headSection(title, plan),
    numbersSection(plan),
    layersSection(plan),
    variantsSection(plan),
    epochsSection(plan),
    listSection(
      'Why this plan',
      plan.reasons.map((reason) => say(reason)),
    ),
    listSection('What the times rest on', [say(plan.cost.description)]),
    findingsSection(findings),
    assumptionsSection(plan.request.assumptions),
  ]);
}

function headSection(title: string, { request, parameters }: ElasticPlan): string {
  const { cluster, model, datasetSize } = request;
  const gpus = formatCount(cluster.nodes * cluster.gpusPerNode);
  const what = `${plural(model.spec.layers, 'layer')}, ${formatCount(parameters)} parameters; ${plural(datasetSize, 'sample')} an epoch on ${gpus} ${cluster.gpu.name}`;
  return `<header>\n${element('h1', text(title))}\n${element('p', text(what))}\n</header>`;
}

function numbersSection({ speedup, totalMs, variants, epochs, request }: ElasticPlan): string {
  const without = variants.find(({ id }) => id === 'none')?.totalMs ?? totalMs;
  const time = durationQuantity(totalMs);
  const verdicts = epochs.map(({ stageBytes }) => epochVerdict(stageBytes, request.cluster.gpu));
  const tightest = verdicts.reduce((worst, verdict) => (verdict.roomBytes < worst.roomBytes ? verdict : worst));
  const memory = bytesOfQuantity(tightest.peakBytes, tightest.usableBytes);
  return numberBoxes('Speed-up, time and memory', [
    {
      name: 'Speed-up',
      value: `${formatNumber(speedup)}x`,
      unit: '',
      note: `over no freezing: ${formatDuration(totalMs)} instead of ${formatDuration(without)}`,
    },
    { name: 'Time', value: time.value, unit: time.unit, note: `for ${plural(epochs.length, 'epoch')}, changes of pipelines included` },
    {
      name: 'Memory',
      value: memory.used,
      unit: `/ ${memory.capacity} ${memory.unit}`,
      note: `in epoch ${formatCount(verdicts.indexOf(tightest))}, stage ${formatCount(tightest.stage)}; ${say(verdictText(tightest))}`,
      isBad: !tightest.fits,
    },
  ]);
}

/** The layers that train in each epoch, and the frozen ones below them, over the time of the run. */
function layersSection({ epochs, totalMs, request }: ElasticPlan): string {
  const { layers } = request.model.spec;
  let startMs = 0;
  const bars = epochs.map((epoch) => {
    const [x, width] = [(startMs / totalMs) * widthPx, (epoch.epochMs / totalMs) * widthPx];
    startMs += epoch.epochMs;
    const frozenPx = (epoch.frozenLayers / layers) * heightPx;
    const title = `Epoch ${epoch.epoch}: ${plural(epoch.frozenLayers, 'frozen layer')}, ${pipelinesText(epoch)}, ${formatDuration(epoch.epochMs)}`;
    const rect = (y: number, height: number, color: string): string =>
      `<rect x="${rounded(x)}" y="${rounded(y)}" width="${rounded(Math.max(1, width - 1))}" height="${rounded(height)}" fill="var(--${color})"/>`;
    return `<g><title>${escapeXml(title)}</title>${rect(0, heightPx - frozenPx, 'forward')}${rect(heightPx - frozenPx, frozenPx, 'workspaces')}</g>`;
  });
  const key = '<p class="key"><span class="swatch forward"></span>layers that train <span class="swatch frozen"></span>frozen layers</p>';
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="Layers that train in each epoch" width="${widthPx}" height="${heightPx}" viewBox="0 0 ${widthPx} ${heightPx}">\n${bars.join('\n')}\n</svg>`;
  return section('Layers over the run', `${element('p', 'An epoch is as wide as it is long.')}\n${key}\n<div class="picture">${svg}</div>`);
}

function rounded(px: number): string {
  return String(Math.round(px * 100) / 100);
}

function pipelinesText({ replicas, pipelineLength }: ElasticEpoch): string {
  return `${plural(replicas, 'pipeline')} of ${plural(pipelineLength, 'GPU')}`;
}

function variantsSection({ variants }: ElasticPlan): string {
  const rows = variants.map(({ id, totalMs, speedup }) =>
    row(
      [text(capitalised(say(variantNames[id]))), text(formatDuration(totalMs)), text(`${formatNumber(speedup)}x`)],
      id === 'all' ? 'chosen' : '',
    ),
  );
  return section('What each mechanism gains', figuresTable(['', 'Time', 'Speed-up'], rows));
}

function epochsSection({ epochs, request }: ElasticPlan): string {
  const rows = epochs.map((epoch) => {
    const verdict = epochVerdict(epoch.stageBytes, request.cluster.gpu);
    const cached =
      epoch.cache.state === 'none' ? '–' : `${epoch.cache.state}, ${formatBytes(epoch.cache.hostBytes + epoch.cache.diskBytes)}`;
    return row([
      formatCount(epoch.epoch),
      formatCount(epoch.frozenLayers),
      text(pipelinesText(epoch)),
      formatCount(epoch.microBatches),
      text(formatDuration(epoch.stepMs)),
      text(formatPercent(epoch.bubbleRate)),
      text(formatDuration(epoch.epochMs)),
      verdict.fits ? text(usedText(verdict)) : element('em', text(usedText(verdict)), 'bad'),
      text(cached),
    ]);
  });
  const head = ['Epoch', 'Frozen', 'Pipelines', 'Micro-batches', 'Step', 'Bubble', 'Time', 'Memory', 'Cache'];
  return section('Every epoch', figuresTable(head, rows));
}

function figuresTable(head: readonly string[], rows: readonly string[]): string {
  return `<table class="figures"><thead>${row(head, '', 'th')}</thead><tbody>\n${rows.join('\n')}\n</tbody></table>`;
}
