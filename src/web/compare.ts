import { recogniseConfig } from '../core/config-files/readers';
import { CancelledError } from '../core/errors';
import { maximumConfigSize } from '../core/languages/json/document';
import { isMeasured } from '../features/compare/core/measured';
import type { Compared } from '../features/compare/host/comparison-host';
import type { Comparisons } from '../features/compare/host/comparisons';
import type { PlanSessions } from '../host/sessions/plan-sessions';
import { choose, pickFile } from './choose';
import { displayPath, fileUri, type WebFiles } from './files';

interface CompareContext {
  readonly sessions: PlanSessions;
  readonly comparisons: Comparisons;
  readonly files: WebFiles;
  readonly showTab: (tab: 'compare', candidate: null) => void;
}

/** Compares a config with what is picked: the best layout, another open config, or a file. @throws CancelledError. */
export async function compareWithPicked(context: CompareContext, file: string): Promise<void> {
  const others = [...context.files.all()].filter(([other, text]) => other !== file && recogniseConfig(other, text) !== null);
  const picked = await choose<'best' | 'file' | { readonly other: string }>('Compare with', [
    { label: 'Best layout', what: 'of a search', value: 'best' },
    { label: 'Open a file', what: 'a Chrome trace, step times, a training log or another config', value: 'file' },
    ...others.map(([other]) => ({ label: displayPath(other), value: { other } })),
  ]);
  if (picked === null) throw new CancelledError();
  if (picked === 'best') await start(context, file, { kind: 'best' });
  else if (picked !== 'file') await startConfig(context, file, picked.other);
  else {
    const content = await pickFile();
    if (content === null) throw new CancelledError();
    await compareWithFile(context, file, content);
  }
}

/** Compares a config with a file: another config, or a measured run. */
export async function compareWithFile(context: CompareContext, file: string, content: File): Promise<void> {
  const other = fileUri(`compared/${content.name}`);
  const text = content.size <= maximumConfigSize ? await content.text() : null;
  if (text !== null && !isMeasured(text) && recogniseConfig(content.name, text) !== null) {
    context.files.put(other, text);
    await startConfig(context, file, other);
  } else {
    context.files.putMeasured(other, content);
    await start(context, file, { kind: 'measured', file: other });
  }
}

async function startConfig(context: CompareContext, file: string, other: string): Promise<void> {
  const format = recogniseConfig(other, context.files.read(other));
  if (format !== null) await context.sessions.ensure(other, format);
  await start(context, file, { kind: 'config', file: other });
}

async function start({ comparisons, showTab }: CompareContext, file: string, other: Compared): Promise<void> {
  showTab('compare', null);
  await comparisons.start(file, other);
}

/** Whether a file is of a measured run and not a config, by its beginning. */
export async function isMeasuredFile(content: File): Promise<boolean> {
  return isMeasured(content.size > maximumConfigSize ? await content.slice(0, 65_536).text() : await content.text());
}
