import type { SearchKey } from '../../core/domain/layout-choices';
import { comparedAnswer } from '../../features/compare/cli/compared';
import { measuredConfig, sayDifferences } from '../../features/compare/cli/measured-config';
import { findStraggler, recoveryAnswer } from '../../features/recovery/cli/answer';
import type { Loss } from '../../features/recovery/cli/options';
import type { Answer } from '../answer';
import type { Line } from '../command';
import { settingsOfLine } from '../common-options';
import { planNearby } from '../planned';
import { readLengths, writtenLengths } from '../problems/lengths';
import { readConfig, readInto } from '../read-config';
import type { SearchChoice } from '../search-options';
import type { Terminal } from '../terminal';
import type { ReadChanged } from './lasting-errors';
import { planAnswer } from './plan';
import { plannedChoice, searchAnswer } from './search';

/** What `plan` is asked for, as its options say. */
interface AskedPlan {
  /** A file of lengths of documents. */
  readonly lengths: string | undefined;
  readonly measured: string | undefined;
  readonly isSearch: boolean;
  readonly choice: SearchChoice | null;
  readonly loss: Loss | null;
  /** What FILE is compared with. */
  readonly other: string | undefined;
  /** Everything in words, not only the answer. */
  readonly isAll: boolean;
  /** Of a search. */
  readonly options: { readonly improvements: boolean; readonly free: readonly SearchKey[] | null };
}

/** `terapipe plan` of the config that the line names. @throws ExpectedError as what it asks for. */
export async function planNamed(line: Line, wanted: AskedPlan, terminal: Terminal, texts: Map<string, string>): Promise<Answer> {
  const { isSearch, choice, loss, other, isAll, options } = wanted;
  const named = await withLengths(line, wanted.lengths, texts);
  const read = await measuredConfig(named, wanted.measured, terminal, texts, isSearch);
  const { config, line: asked, used } = read;
  if (isSearch || loss !== null) sayDifferences(read, terminal);
  if (other !== undefined) return comparedAnswer(config, asked, { other, free: options.free }, terminal, texts);
  const own = settingsOfLine(asked);
  if (choice !== null) {
    const chosen = await plannedChoice(config, asked.defaults, { ...options, own, choice }, terminal);
    return planAnswer(chosen.planned, texts, { own: chosen.settings, used, all: isAll });
  }
  if (isSearch) {
    const after = { line, readChanged: changedReader(config.run.file, asked, terminal) };
    return searchAnswer(config, asked.defaults, { ...options, own, all: isAll, tables: isAll || line.json, after }, terminal);
  }
  const planned = await planNearby(config, asked.defaults, terminal.status, isAll || line.json || loss !== null);
  if (loss === null) return planAnswer(planned, texts, { own, used, all: isAll, line });
  return recoveryAnswer(planned, typeof loss === 'string' ? await findStraggler(planned, loss, terminal, texts) : loss, texts);
}

/** Reads changed texts of a file with the files that it names, and no settings of the command line. */
function changedReader(file: string, { model }: Line, { shell }: Terminal): ReadChanged {
  return (text) => readConfig({ file, text }, { sets: [], shell, model, withProfile: false }, new Map());
}

/** The line with lengths of documents as a setting overriding the files. @throws ExpectedError as `readInto` and `readLengths`. */
async function withLengths(line: Line, file: string | undefined, texts: Map<string, string>): Promise<Line> {
  if (file === undefined) return line;
  const lengths = writtenLengths(readLengths(await readInto(texts, file)));
  return { ...line, sets: [...line.sets, `training.lengths=${JSON.stringify(lengths)}`] };
}
