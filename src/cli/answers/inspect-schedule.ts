import path from 'node:path';
import { ExpectedError } from '../../core/errors';
import { formatCount, formatPercent, plural } from '../../core/format';
import { hasSlices, withSlices } from '../../core/export/slices/slices-file';
import { idleCauses } from '../../core/schedules/simulate/gaps';
import type { WorkUnit } from '../../core/schedules/schedule';
import { readScheduleFile } from '../../core/schedules/pytorch-csv/schedule-file';
import { printable } from '../../core/text';
import type { Answer } from '../answer';
import type { SourceText } from '../read-file';
import { indented, table } from '../table';
import { sentence } from '../../core/sentence';

/**
 * `terapipe inspect` of a schedule in PyTorch's CSV: what it runs, and how long it takes when each pass takes one step and a full backward
 * two.
 * @param slices the file with the slices that its micro-batches are; null: they are whole.
 * @throws ExpectedError `schedule-csv-*` at the first cell that keeps it from running, `slices-file-invalid`.
 */
export function scheduleAnswer({ file, text }: SourceText, slices: SourceText | null): Answer {
  const { findings, drawn: read } = readScheduleFile(text, file, path.basename(file));
  if (read === null) {
    const [
      { code, message, remedy, place } = {
        code: 'schedule-csv',
        message: sentence`The schedule cannot run`,
        remedy: sentence`fix the file`,
        place: undefined,
      },
    ] = findings;
    throw new ExpectedError(code, message, remedy, place);
  }
  const drawn = slices === null ? read : withSlices(read, slices.text, slices.file);
  const { format, version, timeline, bubbleRate, idle, inFlight } = drawn;
  const { name, stages, stageOfChunk, units, makespanMs } = timeline;
  const ranks = Array.from({ length: stages }, (_, rank) => ({
    stages: Array.from(stageOfChunk.keys()).filter((chunk) => stageOfChunk[chunk] === rank),
    idleSteps: Object.fromEntries(idleCauses.map((cause) => [cause, idle[cause][rank] ?? 0])),
    mostInFlight: inFlight[rank] ?? 0,
  }));
  const chunks = stageOfChunk.length;
  const schedule = {
    kind: format,
    pytorch: version,
    ranks: stages,
    stages: chunks,
    microBatches: units.length,
    steps: makespanMs,
    bubbleRate,
    ...(hasSlices(units) && { slices: units }),
  };
  const layout = { pipeline: stages, virtualStages: chunks % stages === 0 ? chunks / stages : null };
  const shown = idleCauses.filter((cause) => idle[cause].some((steps) => steps > 0));
  const rows = ranks.map(({ stages: own, idleSteps, mostInFlight }, rank) => [
    `rank ${rank}`,
    own.join(' '),
    ...shown.map((cause) => formatCount(idleSteps[cause] ?? 0)),
    formatCount(mostInFlight),
  ]);
  return {
    json: {
      version: 1,
      format: 'pytorch-schedule',
      model: null,
      layout,
      training: null,
      cluster: null,
      schedule: { ...schedule, rankDetails: ranks },
    },
    text: [
      printable(
        `${name}: PyTorch schedule, ${format === 'compute_only' ? 'passes only' : 'with sends and receives'}${version === null ? '' : `, for PyTorch ${version}${version === '2.14' ? ' and older' : ''}`}`,
      ),
      `${plural(stages, 'rank')}, ${plural(chunks, 'stage')}, ${plural(units.length, 'micro-batch', 'micro-batches')}: ${plural(makespanMs, 'step')}, bubble ${formatPercent(bubbleRate)}`,
      ...(hasSlices(units) ? [slicesLine(units)] : []),
      'each pass takes 1 step, a full backward 2',
      '',
      'idle steps by cause, and most micro-batches in flight',
      indented(table([['', 'stages', ...shown, 'in flight'], ...rows], [1])),
    ].join('\n'),
    exitCode: 0,
  };
}

/** `slices of 2 micro-batches: 1,536 + 1,280 + 1,280 tokens`; lengths of the first where others differ. */
function slicesLine(units: readonly WorkUnit[]): string {
  const [first] = units;
  const lengths = units.filter(({ microBatch }) => microBatch === first?.microBatch).map(({ tokens }) => formatCount(tokens));
  const count = new Set(units.map(({ microBatch }) => microBatch)).size;
  return `they are slices of ${plural(count, 'micro-batch', 'micro-batches')}: ${lengths.join(' + ')} tokens${count > 1 ? ' in the first' : ''}`;
}
