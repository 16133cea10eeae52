import { writeFile } from 'node:fs/promises';
import { closest } from '../../core/config/suggest';
import { ExpectedError } from '../../core/errors';
import { chosenOf, type Plan } from '../../core/planner/plan';
import { orList, printable, quoted } from '../../core/text';
import { findingLine, printedFinding, type Answer, type Texts } from '../answer';
import { exportFormats, type ExportName } from '../export-formats';
import { exitCodeFor, type Planned } from '../planned';

/** What `export` takes besides a file. */
export interface ExportOptions {
  /** Null only for other commands. */
  readonly to: ExportName | null;
  /** The id or name of a candidate to write instead of the chosen one. */
  readonly candidate: string | null;
  /** A file that is not there yet; null: standard output. */
  readonly out: string | null;
}

/**
 * `terapipe export`: a candidate of a plan as a file, to standard output or to a new file. Findings go to `err`, beside it.
 * @throws ExpectedError `export-*`.
 */
export async function exportAnswer(
  { plan, findings }: Planned,
  { to, candidate, out }: ExportOptions,
  { err, texts }: { readonly err: (text: string) => void; readonly texts: Texts },
): Promise<Answer> {
  const name = to ?? 'svg';
  const shown = candidate === null ? plan : withCandidate(plan, candidate);
  const { text } = exportFormats[name].create(shown);
  if (out !== null) await writeNewFile(out, text);
  for (const finding of findings) err(`${findingLine(printedFinding(finding, texts))}\n`);
  const { id, schedule, fits } = chosenOf(shown);
  return {
    json: { version: 1, to: name, candidate: id, schedule, text: out === null ? text : null, written: out },
    text: out === null ? text.replace(/\n$/, '') : `Wrote ${printable(out)}`,
    exitCode: exitCodeFor(findings, fits),
  };
}

/** A plan as if it had chosen a candidate, told by its id (in any case), its name or its schedule. */
function withCandidate(plan: Plan, wanted: string): Plan {
  const same = (text: string): boolean => text.toLowerCase() === wanted.trim().toLowerCase();
  const { candidates } = plan;
  const found =
    candidates.find(({ id }) => same(id)) ??
    candidates.find(({ name }) => same(name)) ??
    candidates.find(({ schedule, timeline }) => same(schedule) || same(timeline?.name ?? ''));
  if (found !== undefined) return { ...plan, chosen: found.id };
  const ids = candidates.map(({ id }) => id);
  const meant = closest(wanted, ids);
  throw new ExpectedError(
    'export-no-candidate',
    `The plan has no candidate ${quoted(wanted)}`,
    meant === null ? `use ${orList(ids)}, or plan with --schedule` : `did you mean ${meant}? There are ${orList(ids)}`,
  );
}

async function writeNewFile(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { flag: 'wx' });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : null;
    if (code === null) throw error;
    if (code === 'EEXIST') throw new ExpectedError('export-exists', `${file} is there already`, 'name another file, or remove it');
    throw new ExpectedError(
      'export-not-saved',
      `${file} could not be written (${code})`,
      'check its folder and permissions, or name another file',
    );
  }
}
