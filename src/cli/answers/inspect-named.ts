import { ExpectedError } from '../../core/errors';
import { slicesEnding } from '../../core/export/slices/slices-file';
import type { Answer } from '../answer';
import type { Line } from '../command';
import { openNamed } from '../named-source';
import { requireRun } from '../../core/export/planned-config';
import { isOnnx, namedConfig, readInto } from '../read-config';
import { standardInput, type SourceText } from '../read-file';
import type { Terminal } from '../terminal';
import { isScheduleFile } from '../walk';
import { inspectAnswer } from './inspect';
import { launcherAnswer } from './inspect-launcher';
import { scheduleAnswer } from './inspect-schedule';
import { profileFileAnswer } from './profile';

/** `terapipe inspect` of whatever file the line names. @throws ExpectedError as `openNamed`, `namedConfig` and the reader of the file. */
export async function inspectNamed(line: Line, terminal: Terminal, texts: Map<string, string>): Promise<Answer> {
  const source = isOnnx(line.path) ? undefined : await openNamed(line.path, terminal.shell);
  if (source !== undefined) texts.set(source.file, source.text);
  if (source !== undefined && isProfileText(source.text)) return profileFileAnswer(source);
  if (source !== undefined && isScheduleFile(source)) return scheduleAnswer(source, await readSlicesFile(source, texts));
  const config = await namedConfig(line, terminal, texts, { source });
  return config.launcher === null ? inspectAnswer(requireRun(config)) : launcherAnswer(config.launcher, config);
}

function isProfileText(text: string): boolean {
  return /^\s*\{[^{}]*"kind":\s*"terapipe-(?:torch-)?profile"/.test(text);
}

/** The file next to a schedule with the slices of its micro-batches; null where there is none. */
async function readSlicesFile({ file }: SourceText, texts: Map<string, string>): Promise<SourceText | null> {
  if (file === standardInput) return null;
  try {
    return await readInto(texts, `${file}${slicesEnding}`);
  } catch (error) {
    if (error instanceof ExpectedError && error.code === 'config-not-found') return null;
    throw error;
  }
}
