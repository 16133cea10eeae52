import { loadConfig } from '../core/config-files/load-config';
import { CancelledError } from '../core/errors';
import { isElastic } from '../core/export/config-findings';
import { resolveRun } from '../core/plan-request/resolve';
import { makePlan } from '../core/planner/make-plan';
import { english } from '../core/sentence';
import { memoryText, planSummary, planText } from '../host/plan-summary';
import { defaults } from './defaults';
import { fileUri, makeFiles, resolvePath } from './files';
import type { LinkedFiles } from './link';
import { firstConfig } from './recognise';

/**
 * Step time, bubble and memory of what a link holds, before the page is loaded; null where they take longer: a shell script,
 * whose grammar is large, a run that freezes layers, files that are not planned.
 */
export async function firstFigures(linked: LinkedFiles): Promise<string | null> {
  const first = firstConfig(linked);
  if (first === null || first.format === 'pytorch-schedule') return null;
  const files = makeFiles(() => undefined);
  for (const [path, text] of linked) files.put(fileUri(path), text);
  const read = (from: string, path: string) => {
    const file = resolvePath(from, path);
    return Promise.resolve({ file, text: files.read(file) });
  };
  const file = fileUri(first.path);
  const { run } = await loadConfig(file, files.read(file), { read, shell: () => Promise.reject(new CancelledError()) });
  if (run === null || isElastic(run)) return null;
  const summary = planSummary(makePlan(resolveRun(run, defaults, []), { isCompared: false }));
  return `${planText(summary, english)}; ${memoryText(summary, english)}`;
}
