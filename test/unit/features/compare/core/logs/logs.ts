import { readFileSync } from 'node:fs';
import path from 'node:path';
import { makeLogReader } from '../../../../../../src/features/compare/core/logs/read-log';
import type { RunLog } from '../../../../../../src/features/compare/core/logs/run-log';

/** A log in test/fixtures/measured. */
export function fixture(name: string): string {
  return readFileSync(path.join(import.meta.dirname, '../../../../../fixtures/measured', name), 'utf8');
}

export function logOf(text: string): RunLog {
  const log = maybeLogOf(text);
  if (log === null) throw new Error('no log');
  return log;
}

export function maybeLogOf(text: string): RunLog | null {
  const reader = makeLogReader();
  reader.push(text);
  return reader.end();
}

/** A line of Megatron-LM's `training_log`. */
export function iterationLine(iteration: number, ms: number | string, batch = 128, more = ''): string {
  return ` [2026-11-22 09:00:00] iteration ${String(iteration).padStart(8)}/    5000 | consumed samples: ${iteration * batch} | elapsed time per iteration (ms): ${ms} | throughput per GPU (TFLOP/s/GPU): 234.0 | learning rate: 1.0E-05 | global batch size: ${batch} | lm loss: 1.8E+00 |${more}\n`;
}
