import { formatBytes } from '../../format';
import { memoryParts, optimizerStepName, type MemoryPart, type MemoryProfile, type StageMemory } from '../../memory-model/profile';
import { limitText, usedText, memoryVerdict } from '../../memory-model/verdict';
import { element, section, text } from './markup';
import { say } from '../../sentence';
import { maximum } from '../../numbers';

/** Bars of one page; of more stages than that every n-th is shown, ends included. */
const maximumBars = 48;

/** What the parts are called; their classes have a hue and a pattern each. */
const partNames: Readonly<Record<MemoryPart, string>> = {
  weights: 'weights',
  gradients: 'gradients',
  optimizer: 'optimizer state',
  dummyGradients: 'dummy gradients',
  workspaces: 'workspaces',
  activations: 'activations',
  keysValues: 'keys and values',
  logits: 'logits',
  keptForWeights: 'kept for weight gradients',
  backwardOperation: 'backward operation',
};

/** Memory of every stage as bars against its GPU's memory; equal stages share a row. */
export function memorySection(memory: MemoryProfile): string {
  const groups = sparse(grouped(memory.stages));
  const parts = memoryParts.filter((part) => memory.stages.some((stage) => stage.parts[part] > 0));
  const key = parts.map((part) => `<span class="swatch part-${part}"></span>${partNames[part]}`).join(' ');
  const largestBytes = maximum(memory.stages.map(({ capacityBytes }) => capacityBytes));
  const rows = groups.map(({ label, stage }) => {
    const segments = parts.map((part) => {
      const bytes = stage.parts[part];
      const share = Math.min(100, (100 * bytes) / Math.max(stage.capacityBytes, stage.peakBytes));
      const name = part === 'backwardOperation' && stage.peakOperation === optimizerStepName ? stage.peakOperation : partNames[part];
      const title = text(`${name} ${formatBytes(bytes)}`);
      return bytes > 0 ? `<span class="part-${part}" style="width:${share.toFixed(3)}%" title="${title}"></span>` : '';
    });
    const used = usedText(stage);
    return `<tr><th scope="row">${text(stage.gpu === undefined ? label : `${label}, ${stage.gpu}`)}</th><td class="bar"><div${barWidthStyle(stage.capacityBytes / largestBytes)}>${segments.join('')}</div></td><td>${text(used)}</td><td>${text(formatBytes(stage.reservedBytes))}</td><td>${text(formatBytes(stage.inUseBytes))}</td><td>${text(stage.peakOperation)}</td></tr>`;
  });
  const head =
    '<tr><th scope="col">Stage</th><th scope="col">Peak of one GPU</th><th scope="col">Of what is usable</th><th scope="col">Reserved</th><th scope="col">GPU memory in use</th><th scope="col">In</th></tr>';
  const kept = `${say(limitText(memoryVerdict(memory)))}. Counted as ${memory.runtime} does.`;
  return section(
    'Memory',
    `<p class="key">${key}</p>\n<table class="memory"><thead>${head}</thead><tbody>\n${rows.join('\n')}\n</tbody></table>\n${element('p', text(kept), 'note')}`,
  );
}

/** A GPU with less memory than the largest has a shorter bar. */
function barWidthStyle(share: number): string {
  return share < 1 ? ` style="width:${(100 * share).toFixed(3)}%"` : '';
}

interface Group {
  readonly label: string;
  readonly stage: StageMemory;
}

function grouped(stages: readonly StageMemory[]): readonly Group[] {
  const groups: { first: number; last: number; stage: StageMemory }[] = [];
  for (const stage of stages) {
    const last = groups.at(-1);
    if (last !== undefined && shown(last.stage) === shown(stage)) last.last = stage.stage;
    else groups.push({ first: stage.stage, last: stage.stage, stage });
  }
  return groups.map(({ first, last, stage }) => ({ label: first === last ? String(first) : `${first}-${last}`, stage }));
}

function shown(stage: StageMemory): string {
  return [...[...memoryParts.map((part) => stage.parts[part]), stage.peakBytes].map(formatBytes), stage.gpu].join();
}

function sparse(groups: readonly Group[]): readonly Group[] {
  const every = Math.ceil(groups.length / maximumBars);
  return groups.filter((_, index) => index % every === 0 || index === groups.length - 1);
}
