import { column, formatBytes, formatDuration, formatPercent, formatTokens, plural } from '../../core/format';
import type { Prefill } from '../../core/planner/prefill';
import type { PlanRequest } from '../../core/spec/request';
import { printable } from '../../core/text';
import type { Answer } from '../answer';
import { indented, table } from '../table';

/** What `terapipe prefill` found. */
export interface PrefillFound {
  readonly request: PlanRequest;
  readonly prefill: Prefill;
  /** Of the prompts given; of one prompt all are its own. */
  readonly times: { readonly meanMs: number; readonly p50Ms: number; readonly p99Ms: number };
  readonly prompts: number;
}

/** Chunks that are shown one by one. */
const mostShown = 12;

/** `terapipe prefill`: the chunks, what proves them, and what others' rules lose. */
export function prefillAnswer({ request, prefill, times, prompts }: PrefillFound): Answer {
  const { chunks, timeToFirstTokenMs, lowerBoundMs, exact, stagesAlike, unit, rules, memory } = prefill;
  const { layout, training, cluster, title } = request;
  const heldBytes = memory.weightsBytes + memory.keyValueBytes;
  const fits = heldBytes <= memory.capacityBytes;
  const proof = exact ? 'proved optimal' : `at most ${formatPercent(timeToFirstTokenMs / lowerBoundMs - 1)} above the best possible`;
  const stages = stagesAlike ? '' : ', for stages all as slow as the slowest';
  const rows = rules.map((rule) => [
    rule.name,
    column.duration(rule.timeToFirstTokenMs),
    plural(rule.chunks.length, 'chunk'),
    `${formatPercent(Math.max(0, rule.timeToFirstTokenMs / timeToFirstTokenMs - 1))} slower`,
  ]);
  return {
    json: {
      version: 1,
      prefill: { chunks, timeToFirstTokenMs, lowerBoundMs, exact, unit, rules, ...times, memory: { ...memory, fits } },
      layout,
    },
    text: [
      printable(
        `${title}: prompt of ${formatTokens(training.sequenceLength)}, ${plural(layout.pipeline, 'stage')} of ${layout.tensor} x ${cluster.gpu.name}`,
      ),
      '',
      `First token after ${formatDuration(timeToFirstTokenMs)} with ${plural(chunks.length, 'chunk')}, in multiples of ${unit} tokens: ${proof}${stages}`,
      `Chunks: ${chunks.slice(0, mostShown).join(', ')}${chunks.length > mostShown ? `, ... ${chunks.at(-1) ?? 0}` : ''}`,
      '',
      indented(table(rows, [0, 2, 3])),
      '',
      ...(prompts === 1
        ? []
        : [
            `${plural(prompts, 'prompt')}: ${formatDuration(times.meanMs)} on average, ${formatDuration(times.p50Ms)} in the median, ${formatDuration(times.p99Ms)} for 99 of 100`,
          ]),
      `Memory: ${formatBytes(memory.weightsBytes)} of weights and ${formatBytes(memory.keyValueBytes)} of keys and values on a GPU of ${formatBytes(memory.capacityBytes)}${fits ? '' : ': does not fit'}`,
    ].join('\n'),
    exitCode: fits ? 0 : 1,
  };
}
