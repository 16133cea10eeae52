import { formatBytes, formatDuration } from '../../../src/core/format';
import type { MemoryPart, MemoryProfile, StageMemory } from '../../../src/core/memory-model/profile';
import { fill, h } from '../../base/dom';
import type { Operations } from '../../base/operations';
import { t } from '../../base/strings';
import { memoryCurve, partsAtPoint, pointAt, stageParts } from './curve';
import { partName } from './summary';

/** What a stage has in use at a time. */
export interface Readout {
  readonly stage: number;
  readonly ms: number;
  readonly bytes: number;
  /** Every part that the stage has in the step, bytes at the time, the topmost of the stack first. */
  readonly parts: readonly (readonly [MemoryPart, number])[];
}

/** What a stage has in use at a time of the step, ms, from then on. */
export function readMemory(operations: Operations, profile: MemoryProfile, stage: StageMemory, ms: number): Readout {
  const curve = memoryCurve(operations, profile, stage);
  const point = pointAt(curve, ms);
  const bytes = partsAtPoint(curve, stage, point);
  const parts = stageParts(curve, stage).reverse();
  return { stage: stage.stage, ms, bytes: curve.bytes[point] ?? 0, parts: parts.map((part) => [part, bytes[part]]) };
}

/** Shows it: stage, time and sum, below them the parts. */
export function fillReadout(element: HTMLElement, { stage, ms, bytes, parts }: Readout): void {
  fill(
    element,
    h('div', { class: 'tooltip-title' }, t('Stage {0} at {1} · {2}', stage, formatDuration(ms), formatBytes(bytes))),
    h(
      'div',
      { class: 'readout-parts' },
      ...parts.map(([part, own]) =>
        h(
          'div',
          { class: 'readout-part' },
          h('span', { class: `swatch swatch-${part}` }),
          h('span', { class: 'readout-name' }, partName(part)),
          h('span', { class: 'readout-bytes' }, own === 0 ? '–' : formatBytes(own)),
        ),
      ),
    ),
  );
}

/** The same for the ear, without the parts that are missing. */
export function spokenReadout({ stage, bytes, parts }: Readout): string {
  const there = parts.filter(([, own]) => own > 0).map(([part, own]) => `${partName(part)} ${formatBytes(own)}`);
  return [t('Memory of stage {0}: {1}', stage, formatBytes(bytes)), ...there].join(', ');
}
