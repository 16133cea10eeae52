import * as v from 'valibot';
import { ExpectedError } from '../../errors';
import { sentence } from '../../sentence';
import type { Place } from '../../domain/located';
import type { SteppedSchedule } from '../../schedules/pytorch-csv/schedule-file';
import type { WorkUnit } from '../../schedules/schedule';

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const unit = v.object({
  unit: count,
  microBatch: count,
  slice: count,
  batch: v.pipe(count, v.minValue(1)),
  tokens: v.pipe(count, v.minValue(1)),
  context: count,
});
const file = v.object({
  kind: v.literal('terapipe-slices'),
  version: v.literal(1),
  schedule: v.string(),
  units: v.pipe(v.array(unit), v.minLength(1)),
});

/** Behind the name of a schedule's CSV: what its micro-batches are. */
export const slicesEnding = '.slices.json';

/** Whether a schedule runs token slices, which PyTorch's CSV has no word for. */
export function hasSlices(units: readonly WorkUnit[]): boolean {
  return units.some(({ slice }) => slice > 0);
}

/**
 * The file next to the CSV of a sliced schedule: its numbers of micro-batches are those of `units` here, each a slice of `tokens` tokens
 * after `context` of `batch` sequences.
 */
export function slicesText(schedule: string, units: readonly WorkUnit[]): string {
  const rows = units.map(({ microBatch, slice, batch, tokens, context }, index) =>
    JSON.stringify({ unit: index, microBatch, slice, batch, tokens, context }),
  );
  const name = JSON.stringify(schedule);
  return `{"kind": "terapipe-slices", "version": 1, "schedule": ${name}, "units": [\n  ${rows.join(',\n  ')}\n]}\n`;
}

/** The units of such a file, in order. @throws ExpectedError `slices-file-invalid`. */
export function readSlices(text: string, place: Place): readonly WorkUnit[] {
  const read = v.safeParse(file, parsed(text));
  const isOrdered = read.success && read.output.units.every((each, index) => each.unit === index);
  if (!isOrdered)
    throw new ExpectedError(
      'slices-file-invalid',
      sentence`This does not list the micro-batches of a schedule`,
      sentence`write it with terapipe export --to pytorch-csv --out`,
      place,
    );
  return read.output.units.map(({ microBatch, slice, batch, tokens, context }) => ({ microBatch, slice, batch, tokens, context }));
}

/**
 * A drawn CSV whose micro-batches are the slices of the file next to it.
 * @param file the identity of that file, in the places of errors.
 * @throws ExpectedError `slices-file-invalid` for a text that is none, or is of another number of micro-batches.
 */
export function withSlices(drawn: SteppedSchedule, text: string, file: string): SteppedSchedule {
  const place = { file, range: { start: 0, end: 0 } };
  const units = readSlices(text, place);
  const expected = drawn.timeline.units.length;
  if (units.length !== expected)
    throw new ExpectedError(
      'slices-file-invalid',
      sentence`The file next to the schedule has ${units.length} slices for ${expected} micro-batches`,
      sentence`write both again with terapipe export --to pytorch-csv --out, or delete the older one`,
      place,
    );
  return { ...drawn, timeline: { ...drawn.timeline, units } };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
