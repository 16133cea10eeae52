import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Answer } from '../../../cli/answer';
import type { Terminal } from '../../../cli/terminal';
import { notWritten } from '../../../files/system-reason';
import { writeOut } from '../../../cli/write-file';

/** Prints the skill, or writes it into a folder of skills. */
export async function skillAnswer(out: string | null, { profilerFile }: Pick<Terminal, 'profilerFile'>): Promise<Answer> {
  const skill = await readFile(path.join(path.dirname(profilerFile), 'skills', 'terapipe', 'SKILL.md'), 'utf8');
  if (out === null) return { json: { version: 1, skill }, text: skill.trimEnd(), exitCode: 0 };
  const file = path.join(out, 'terapipe', 'SKILL.md');
  await mkdir(path.dirname(file), { recursive: true }).catch((error: unknown) => {
    throw notWritten('export-not-saved', file, error);
  });
  await writeOut(file, skill, true);
  return { json: { version: 1, file }, text: file, exitCode: 0 };
}
