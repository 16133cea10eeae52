import { operationKind, type OperationKind, type Schedule } from '../../../core/schedules/schedule';

/**
 * What passes of a step hand to each other, of one unit on one chunk:
 * - `activation`: the chunk's input, from the chunk before;
 * - `gradient`: that of the chunk's output, from the chunk after;
 * - `keys`: keys and values of the unit and its context, which the next slice attends to;
 * - `keyGradient`: what later slices put on them;
 * - `saved`: activations that the backward pass needs;
 * - `weightInputs`: what the gradient of the weights also needs once the gradient of the input is computed.
 */
type ItemKind = 'activation' | 'gradient' | 'keys' | 'keyGradient' | 'saved' | 'weightInputs';

export interface Item {
  readonly what: ItemKind;
  readonly chunk: number;
  readonly unit: number;
}

/** What a pass needs before it can run, what exists after it, and which of all that nobody needs any more. */
interface Handling {
  readonly needs: readonly Item[];
  readonly makes: readonly Item[];
  readonly frees: readonly Item[];
}

/** Whether a unit has an earlier and a later slice of its micro-batch. */
export function sliceNeighbours({ units }: Pick<Schedule, 'units'>, unit: number): { readonly earlier: boolean; readonly later: boolean } {
  const microBatch = units[unit]?.microBatch;
  return { earlier: unit > 0 && units[unit - 1]?.microBatch === microBatch, later: units[unit + 1]?.microBatch === microBatch };
}

/** What the pass in a row of a schedule needs, makes and frees; the chunk's weights and their gradients are always present. */
export function rowHandling(schedule: Pick<Schedule, 'units' | 'stageOfChunk' | 'kind' | 'chunk' | 'unit'>, row: number): Handling {
  const chunk = schedule.chunk[row] ?? 0;
  const unit = schedule.unit[row] ?? 0;
  const { earlier, later } = sliceNeighbours(schedule, unit);
  const isFirst = chunk === 0;
  const isLast = chunk === schedule.stageOfChunk.length - 1;
  const item = (what: ItemKind, onChunk = chunk, ofUnit = unit): Item => ({ what, chunk: onChunk, unit: ofUnit });
  const when = (condition: boolean, what: ItemKind, onChunk = chunk, ofUnit = unit): Item[] =>
    condition ? [item(what, onChunk, ofUnit)] : [];
  const activation = when(!isFirst, 'activation');
  const gradient = when(!isLast, 'gradient');
  const keyGradient = when(later, 'keyGradient');
  const kind = (schedule.kind[row] ?? operationKind.forward) as OperationKind;
  switch (kind) {
    case operationKind.forward:
      return {
        needs: [...activation, ...when(earlier, 'keys', chunk, unit - 1)],
        makes: [item('saved'), item('keys'), ...when(!isLast, 'activation', chunk + 1)],
        frees: activation,
      };
    case operationKind.backwardWeight:
      return { needs: [item('saved'), item('weightInputs')], makes: [], frees: [item('saved'), item('weightInputs')] };
    case operationKind.backward:
    case operationKind.backwardInput: {
      const isWhole = kind === operationKind.backward;
      const handedOn = [...when(!isFirst, 'gradient', chunk - 1), ...when(earlier, 'keyGradient', chunk, unit - 1)];
      return {
        needs: [item('saved'), item('keys'), ...gradient, ...keyGradient],
        makes: isWhole ? handedOn : [...handedOn, item('weightInputs')],
        frees: [...when(isWhole, 'saved'), item('keys'), ...gradient, ...keyGradient],
      };
    }
  }
}

/** One name for each item. */
export function itemKey({ what, chunk, unit }: Item): string {
  return `${what} ${chunk} ${unit}`;
}

/** An item in words. */
export function itemText({ what, chunk, unit }: Item): string {
  return `${itemWords[what]} of unit ${unit} on chunk ${chunk}`;
}

const itemWords: Readonly<Record<ItemKind, string>> = {
  activation: 'the input',
  gradient: 'the gradient of the output',
  keys: 'the keys and values',
  keyGradient: "later slices' gradient of the keys and values",
  saved: 'the saved activations',
  weightInputs: 'what makes the weight gradient',
};

/**
 * The most that a stage holds at one time, without weights and their gradients, bytes.
 * @param itemBytes of one item.
 */
export function peakHeldBytes(schedule: Schedule, stage: number, itemBytes: (item: Item) => number): number {
  const held = new Map<string, number>();
  let [now, peak] = [0, 0];
  const add = (item: Item): void => {
    if (held.has(itemKey(item)) || schedule.stageOfChunk[item.chunk] !== stage) return;
    const bytes = itemBytes(item);
    held.set(itemKey(item), bytes);
    now += bytes;
    peak = Math.max(peak, now);
  };
  for (let row = schedule.rowStart[stage] ?? 0; row < (schedule.rowStart[stage + 1] ?? 0); row++) {
    const { needs, makes, frees } = rowHandling(schedule, row);
    for (const item of [...needs, ...makes]) add(item);
    for (const item of frees) {
      now -= held.get(itemKey(item)) ?? 0;
      held.delete(itemKey(item));
    }
  }
  return peak;
}
