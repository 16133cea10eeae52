import * as v from 'valibot';
import { candidateIds } from '../../core/planner/plan';
import { comparisonActs, exportFormats, pageCommands, type PageMessage } from '../../protocol/page';

const offset = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const place = v.object({
  file: v.pipe(v.string(), v.maxLength(8192)),
  range: v.object({ start: offset, end: offset }),
});

const layoutPoint = v.object({ answer: v.pipe(v.string(), v.maxLength(200)), index: offset });

const pageMessage = v.variant('type', [
  v.object({ type: v.literal('ready') }),
  v.object({ type: v.literal('command'), command: v.picklist(pageCommands) }),
  v.object({ type: v.literal('reveal'), place }),
  v.object({
    type: v.literal('change'),
    change: v.object({
      key: v.picklist(['schedule', 'training.recompute', 'training.microBatch', 'slicing.unit']),
      value: v.union([v.pipe(v.string(), v.maxLength(200)), v.pipe(v.number(), v.finite()), v.null()]),
    }),
  }),
  v.object({ type: v.literal('export'), format: v.picklist(exportFormats), candidate: v.picklist(candidateIds) }),
  v.object({ type: v.literal('draw'), candidates: v.pipe(v.array(v.picklist(candidateIds)), v.maxLength(2)) }),
  v.object({ type: v.literal('openLayout'), point: v.nullable(layoutPoint) }),
  v.object({ type: v.literal('applyLayout'), point: layoutPoint }),
  v.object({ type: v.literal('exportLayout'), point: layoutPoint }),
  v.object({ type: v.literal('comparison'), act: v.picklist(comparisonActs) }),
  v.object({
    type: v.literal('openTab'),
    tab: v.pipe(v.string(), v.regex(/^[a-z-]{1,40}$/)),
    candidate: v.nullable(v.picklist(candidateIds)),
  }),
  v.object({
    type: v.literal('save'),
    name: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
    mime: v.picklist(['image/svg+xml', 'application/json', 'text/tab-separated-values']),
    text: v.pipe(v.string(), v.maxLength(100_000_000)),
  }),
  v.object({
    type: v.literal('log'),
    level: v.picklist(['error', 'info']),
    message: v.pipe(v.string(), v.maxLength(10_000)),
  }),
]);

/** A message from a page, or null for anything else. Pages run scripts of ours alone, but what arrives is checked all the same. */
export function parsePageMessage(value: unknown): PageMessage | null {
  const result = v.safeParse(pageMessage, value);
  return result.success ? result.output : null;
}
